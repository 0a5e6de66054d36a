import type { Pausable } from '../turns.ts';
import type { EdgeInput, GraphOperation, NodeInput, Scalar } from './input.ts';
import {
  checkAttributes,
  checkCounts,
  compareEdges,
  edgeOf,
  findEdge,
  findNode,
  type GraphDocument,
  type GraphEdge,
  type GraphNode,
  nodeOf,
  sameElement,
} from './model.ts';

export interface GraphMutationRecord {
  readonly op: GraphOperation['op'];
  readonly description: string;
  readonly changed: boolean;
}

/** A failed operation; the whole call then changes nothing. */
export class GraphOperationError extends Error {
  override readonly name = 'GraphOperationError';
  readonly index: number;

  constructor(index: number, message: string) {
    super(message);
    this.index = index;
  }
}

export interface Applied {
  /** The identical object if nothing changed. */
  readonly document: GraphDocument;
  readonly applied: readonly GraphMutationRecord[];
}

/** A graph being changed, with its own sorted lists. Elements are replaced, never mutated. */
interface Draft {
  nodes: GraphNode[];
  edges: GraphEdge[];
}

/**
 * Applies operations in order, each to the result of the previous one.
 *
 * @throws GraphOperationError for an edge to a missing node, a rename to an existing id, and an invalid label or
 * weight; GraphSizeError
 */
export function* applyOperations(document: GraphDocument, operations: readonly GraphOperation[]): Pausable<Applied> {
  const draft: Draft = { nodes: [...document.nodes], edges: [...document.edges] };
  const applied: GraphMutationRecord[] = [];
  for (const [index, operation] of operations.entries()) {
    const fail = (message: string): GraphOperationError => new GraphOperationError(index, message);
    const [description, changed] = apply(draft, operation, fail);
    applied.push({ op: operation.op, description, changed });
    yield;
  }
  if (!applied.some(({ changed }) => changed)) return { document, applied };
  const changed = { ...document, ...draft };
  checkCounts(changed);
  return { document: changed, applied };
}

type Outcome = readonly [description: string, changed: boolean];
type Fail = (message: string) => GraphOperationError;

function apply(draft: Draft, operation: GraphOperation, fail: Fail): Outcome {
  switch (operation.op) {
    case 'add_node':
      return addNode(draft, operation.node);
    case 'remove_node':
      return removeNode(draft, operation.id);
    case 'rename_node':
      return renameNode(draft, operation.id, operation.new_id, fail);
    case 'add_edge':
      return addEdge(draft, operation.edge, fail);
    case 'remove_edge':
      return removeEdge(draft, operation);
    case 'set_node_attribute':
      return setNodeAttribute(draft, operation, fail);
    case 'set_edge_attribute':
      return setEdgeAttribute(draft, operation, fail);
  }
}

function addNode({ nodes }: Draft, input: NodeInput): Outcome {
  return put(nodes, findNode(nodes, input.id), nodeOf, input, `node ${input.id}`);
}

/** Inserts an element at its sorted position, or merges it into the existing one. */
function put<Input extends NodeInput | EdgeInput, Element extends Input & (GraphNode | GraphEdge)>(
  list: Element[],
  { at, found }: ReturnType<typeof findNode>,
  made: (input: Input) => Element,
  input: Input,
  name: string,
): Outcome {
  const old = found ? list[at] : undefined;
  const attributes = { ...old?.attributes, ...input.attributes };
  const element = made({ ...old, ...given(input), attributes } as Input);
  checkAttributes(element.attributes);
  if (old !== undefined && sameElement(old, element)) return [`${name} is there already`, false];
  list.splice(at, old === undefined ? 0 : 1, element);
  return [`${old === undefined ? 'added' : 'merged'} ${name}`, true];
}

function removeNode(draft: Draft, id: string): Outcome {
  const { at, found } = findNode(draft.nodes, id);
  if (!found) return [`there is no node ${id}`, false];
  draft.nodes.splice(at, 1);
  const left = draft.edges.filter(({ from, to }) => from !== id && to !== id);
  const gone = draft.edges.length - left.length;
  draft.edges = left;
  return [`removed node ${id} and ${gone} edges`, true];
}

function renameNode(draft: Draft, id: string, newId: string, fail: Fail): Outcome {
  const { at, found } = findNode(draft.nodes, id);
  const old = draft.nodes[at];
  if (!found || old === undefined) return [`there is no node ${id}`, false];
  if (id === newId) return [`node ${id} has this id already`, false];
  if (findNode(draft.nodes, newId).found) throw fail(`the id ${newId} is in use`);
  draft.nodes.splice(at, 1);
  draft.nodes.splice(findNode(draft.nodes, newId).at, 0, { ...old, id: newId });
  const renamed = (end: string): string => (end === id ? newId : end);
  const moved = draft.edges
    .filter(({ from, to }) => from === id || to === id)
    .map((edge) => ({ ...edge, from: renamed(edge.from), to: renamed(edge.to) }))
    .sort(compareEdges);
  draft.edges = merge(
    draft.edges.filter(({ from, to }) => from !== id && to !== id),
    moved,
  );
  return [`renamed node ${id} to ${newId}`, true];
}

function merge(a: readonly GraphEdge[], b: readonly GraphEdge[]): GraphEdge[] {
  const merged: GraphEdge[] = [];
  let next = 0;
  for (const edge of a) {
    for (let other = b[next]; other && compareEdges(other, edge) < 0; other = b[next]) {
      merged.push(other);
      next++;
    }
    merged.push(edge);
  }
  return [...merged, ...b.slice(next)];
}

function addEdge({ nodes, edges }: Draft, input: EdgeInput, fail: Fail): Outcome {
  for (const end of [input.from, input.to]) {
    if (!findNode(nodes, end).found) throw fail(`the edge refers to node ${end}, which does not exist`);
  }
  return put(edges, findEdge(edges, input), edgeOf, input, `edge ${input.from} -> ${input.to}`);
}

function removeEdge({ edges }: Draft, ends: { readonly from: string; readonly to: string }): Outcome {
  const { at, found } = findEdge(edges, ends);
  const name = `${ends.from} -> ${ends.to}`;
  if (!found) return [`there is no edge ${name}`, false];
  edges.splice(at, 1);
  return [`removed edge ${name}`, true];
}

type Setting<Op> = Extract<GraphOperation, { op: Op }>;

function setNodeAttribute({ nodes }: Draft, operation: Setting<'set_node_attribute'>, fail: Fail): Outcome {
  const { id } = operation;
  const set = (node: GraphNode): GraphNode => nodeOf(withField(node, operation, fail));
  return replace(nodes, findNode(nodes, id), set, operation, `node ${id}`);
}

function setEdgeAttribute({ edges }: Draft, operation: Setting<'set_edge_attribute'>, fail: Fail): Outcome {
  const { from, to, key, value } = operation;
  const set = (edge: GraphEdge): GraphEdge =>
    edgeOf(key === 'weight' ? withWeight(edge, value, fail) : withField(edge, operation, fail));
  return replace(edges, findEdge(edges, operation), set, operation, `edge ${from} -> ${to}`);
}

type Field = Pick<Setting<'set_node_attribute'>, 'key' | 'value'>;

function replace<Element extends object>(
  list: Element[],
  { at, found }: ReturnType<typeof findNode>,
  set: (old: Element) => Element,
  { key, value }: Field,
  name: string,
): Outcome {
  const old = found ? list[at] : undefined;
  if (old === undefined) return [`there is no ${name}`, false];
  const element = set(old);
  if (sameElement(old, element)) return [`${key} of ${name} is unchanged`, false];
  list[at] = element;
  return [`${value === null ? 'removed' : 'set'} ${key} of ${name}`, true];
}

function withWeight({ weight: _, ...rest }: GraphEdge, value: Scalar | null, fail: Fail): GraphEdge {
  if (value === null) return rest;
  if (typeof value !== 'number' || !(value >= 0)) throw fail('a weight must be a number, 0 or more');
  return { ...rest, weight: value };
}

function withField<Element extends GraphNode | GraphEdge>(element: Element, { key, value }: Field, fail: Fail) {
  if (key === 'label') {
    if (value !== null && typeof value !== 'string') throw fail('a label must be a string');
    return { ...element, label: value ?? undefined };
  }
  const { [key]: _, ...others } = element.attributes;
  const attributes = value === null ? others : { ...others, [key]: value };
  checkAttributes(attributes);
  return { ...element, attributes };
}

function given<Input extends object>(input: Input): Partial<Input> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as Partial<Input>;
}
