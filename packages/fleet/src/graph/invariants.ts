import type { Pausable } from '../turns.ts';
import type { Attributes, Scalar } from './input.ts';
import { findNode, type GraphDocument, type GraphEdge } from './model.ts';

type ViolationCode = 'E-GRAPH-CYCLE' | 'E-NODE-LABEL' | 'E-EDGE-LABEL' | 'E-EDGE-PORT' | 'E-IN-DEGREE' | 'E-OUT-DEGREE';

export interface Violation {
  readonly code: ViolationCode;
  readonly message: string;
  readonly nodes?: readonly string[];
  readonly edge?: { readonly from: string; readonly to: string };
}

const STRIDE = 256;

/** Violations of the rules enabled in a graph's metadata, in a fixed order. */
export function* violationsOf(document: GraphDocument): Pausable<Violation[]> {
  const { metadata } = document;
  const found: Violation[] = [];
  if (isAcyclic(metadata)) found.push(...(yield* cycles(document)));
  if (metadata.require_labels === true) found.push(...unlabelled(document));
  if (metadata.require_edge_labels === true) found.push(...brokenEdges(document, hasLabel, 'E-EDGE-LABEL', 'a label'));
  if (metadata.require_ports === true) {
    found.push(...brokenEdges(document, hasPorts, 'E-EDGE-PORT', 'from_port and to_port'));
  }
  yield;
  found.push(...(yield* degrees(document)));
  return found;
}

export function addedViolations(before: readonly Violation[], after: readonly Violation[]): Violation[] {
  const known = new Set(before.map(keyOf));
  return after.filter((violation) => !known.has(keyOf(violation)));
}

function keyOf({ code, nodes, edge }: Violation): string {
  return JSON.stringify([code, nodes, edge?.from, edge?.to]);
}

function isAcyclic({ graph_kind, dag, enforce_dag }: Attributes): boolean {
  return graph_kind === 'dag' || dag === true || enforce_dag === true;
}

function unlabelled({ nodes }: GraphDocument): Violation[] {
  return nodes
    .filter(({ label }) => !label)
    .map(({ id }) => ({ code: 'E-NODE-LABEL', message: `node ${id} has no label`, nodes: [id] }));
}

function hasLabel({ label }: GraphEdge): boolean {
  return Boolean(label);
}

function hasPorts({ attributes: { from_port, to_port } }: GraphEdge): boolean {
  return [from_port, to_port].every((port) => port !== undefined && port !== '');
}

function brokenEdges(
  { edges }: GraphDocument,
  isWhole: (edge: GraphEdge) => boolean,
  code: ViolationCode,
  what: string,
): Violation[] {
  return edges
    .filter((edge) => !isWhole(edge))
    .map(({ from, to }) => ({ code, message: `edge ${from} -> ${to} has no ${what}`, edge: { from, to } }));
}

/** Nodes with more edges than their own limit or else the graph's limit. */
function* degrees({ nodes, edges, metadata }: GraphDocument): Pausable<Violation[]> {
  const found: Violation[] = [];
  const sides = [
    ['max_in_degree', 'to', 'E-IN-DEGREE', 'incoming'],
    ['max_out_degree', 'from', 'E-OUT-DEGREE', 'outgoing'],
  ] as const;
  for (const [rule, end, code, words] of sides) {
    if (limitOf(metadata[rule]) === null && !nodes.some(({ attributes }) => attributes[rule] !== undefined)) continue;
    const counts = new Map<string, number>();
    for (const [index, edge] of edges.entries()) {
      counts.set(edge[end], (counts.get(edge[end]) ?? 0) + 1);
      if (index % STRIDE === 0) yield;
    }
    for (const { id, attributes } of nodes) {
      const limit = limitOf(attributes[rule]) ?? limitOf(metadata[rule]);
      const count = counts.get(id) ?? 0;
      if (limit === null || count <= limit) continue;
      found.push({ code, message: `node ${id} has ${count} ${words} edges, ${limit} are allowed`, nodes: [id] });
    }
  }
  return found;
}

function limitOf(value: Scalar | undefined): number | null {
  return typeof value === 'number' ? value : null;
}

/** Cycles: strongly connected components, by Tarjan's algorithm without recursion. */
function* cycles({ nodes, edges }: GraphDocument): Pausable<Violation[]> {
  const targets: number[][] = nodes.map(() => []);
  const loops = new Set<number>();
  for (const [index, { from, to }] of edges.entries()) {
    const [source, target] = [findNode(nodes, from).at, findNode(nodes, to).at];
    targets[source]?.push(target);
    if (source === target) loops.add(source);
    if (index % STRIDE === 0) yield;
  }
  const components = yield* connectedComponents(targets);
  return components
    .filter(([first, ...more]) => more.length > 0 || (first !== undefined && loops.has(first)))
    .map((members) => members.sort((a, b) => a - b).flatMap((member) => nodes[member]?.id ?? []))
    .sort(([a = ''], [b = '']) => (a < b ? -1 : 1))
    .map((ids) => ({
      code: 'E-GRAPH-CYCLE',
      message: `${ids.length} nodes form a cycle: ${ids.slice(0, 5).join(', ')}`,
      nodes: ids,
    }));
}

function* connectedComponents(targets: readonly (readonly number[])[]): Pausable<number[][]> {
  const order = new Int32Array(targets.length).fill(-1);
  const low = new Int32Array(targets.length);
  const onStack = new Uint8Array(targets.length);
  const stack: number[] = [];
  const components: number[][] = [];
  let count = 0;
  const enter = (node: number): { node: number; next: number } => {
    order[node] = low[node] = count++;
    stack.push(node);
    onStack[node] = 1;
    return { node, next: 0 };
  };
  for (let start = 0; start < targets.length; start++) {
    if (order[start] !== -1) continue;
    const path = [enter(start)];
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { node } = top;
      const target = targets[node]?.[top.next++];
      if (target === undefined) {
        path.pop();
        const parent = path.at(-1)?.node;
        if (parent !== undefined) low[parent] = Math.min(low[parent] ?? 0, low[node] ?? 0);
        if (low[node] !== order[node]) continue;
        const members = stack.splice(stack.lastIndexOf(node));
        for (const member of members) onStack[member] = 0;
        components.push(members);
      } else if (order[target] === -1) {
        path.push(enter(target));
        if (count % STRIDE === 0) yield;
      } else if (onStack[target] === 1) {
        low[node] = Math.min(low[node] ?? 0, order[target] ?? 0);
      }
    }
  }
  return components;
}
