import type { Pausable } from '../turns.ts';
import type { Attributes, EdgeInput, GraphDescriptor, NodeInput } from './input.ts';

export interface GraphNode {
  readonly id: string;
  readonly label?: string;
  /** Sorted by key. */
  readonly attributes: Attributes;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly label?: string;
  /** Non-negative. */
  readonly weight?: number;
  readonly attributes: Attributes;
}

/** An immutable graph in canonical order: nodes by id, edges by their ends, attributes by key. */
export interface GraphDocument {
  readonly name: string;
  readonly metadata: Attributes;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

const DEFAULT_NAME = 'workflow';
export const EMPTY_GRAPH: GraphDocument = { name: DEFAULT_NAME, metadata: {}, nodes: [], edges: [] };

const MAX_NODES = 10_000;
const MAX_EDGES = 50_000;
const MAX_ATTRIBUTES = 64;
export const MAX_GRAPH_BYTES = 4 * 1024 * 1024;
/** Number of elements processed between possible pauses. */
const STRIDE = 256;

export class GraphShapeError extends Error {
  override readonly name = 'GraphShapeError';
  /** The part, such as `edges[3].to`. */
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

export class GraphSizeError extends Error {
  override readonly name = 'GraphSizeError';
}

/** Compares like `<`: texts by UTF-16 code units. */
export function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function compareNodes(a: { readonly id: string }, b: { readonly id: string }): number {
  return compare(a.id, b.id);
}

interface Ends {
  readonly from: string;
  readonly to: string;
}

export function compareEdges(a: Ends, b: Ends): number {
  return compare(a.from, b.from) || compare(a.to, b.to);
}

/**
 * The index of an element in a sorted list, or its insertion point.
 *
 * @param compare - compares the wanted element with an item: negative if it sorts before the item
 */
export function search<Item>(list: readonly Item[], compare: (item: Item) => number) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = list[middle];
    const order = item === undefined ? -1 : compare(item);
    if (order === 0) return { at: middle, found: true };
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return { at: low, found: false };
}

export function findNode(nodes: readonly GraphNode[], id: string) {
  return search(nodes, (node) => compare(id, node.id));
}

export function findEdge(edges: readonly GraphEdge[], ends: Ends) {
  return search(edges, (edge) => compareEdges(ends, edge));
}

function sortedAttributes(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).sort(([a], [b]) => compare(a, b)));
}

export function nodeOf({ id, label, attributes = {} }: NodeInput): GraphNode {
  return { id, ...(label !== undefined && { label }), attributes: sortedAttributes(attributes) };
}

export function edgeOf({ from, to, label, weight, attributes = {} }: EdgeInput): GraphEdge {
  return {
    from,
    to,
    ...(label !== undefined && { label }),
    ...(weight !== undefined && { weight }),
    attributes: sortedAttributes(attributes),
  };
}

/**
 * Converts a descriptor to a document.
 *
 * @throws GraphShapeError for a duplicate node, a duplicate edge or an edge to a missing node; GraphSizeError
 */
export function* documentOf(descriptor: GraphDescriptor): Pausable<GraphDocument> {
  const { name = DEFAULT_NAME, metadata = {} } = descriptor;
  const ids = new Set<string>();
  const nodes: GraphNode[] = [];
  for (const [index, node] of descriptor.nodes.entries()) {
    if (ids.has(node.id)) throw new GraphShapeError(`nodes[${index}].id`, 'two nodes have this id');
    ids.add(node.id);
    nodes.push(nodeOf(node));
    if (index % STRIDE === 0) yield;
  }
  const known = new Set<string>();
  const edges: GraphEdge[] = [];
  for (const [index, edge] of descriptor.edges.entries()) {
    const key = JSON.stringify([edge.from, edge.to]);
    if (known.has(key)) throw new GraphShapeError(`edges[${index}]`, 'two edges have the same ends');
    known.add(key);
    for (const end of ['from', 'to'] as const) {
      if (!ids.has(edge[end])) throw new GraphShapeError(`edges[${index}].${end}`, 'no node has this id');
    }
    edges.push(edgeOf(edge));
    if (index % STRIDE === 0) yield;
  }
  const document = {
    name,
    metadata: sortedAttributes(metadata),
    nodes: nodes.sort(compareNodes),
    edges: edges.sort(compareEdges),
  };
  checkCounts(document);
  return document;
}

/** @throws GraphSizeError if there are more nodes, edges or attributes than the limits allow */
export function checkCounts({ nodes, edges, metadata }: GraphDocument): void {
  if (nodes.length > MAX_NODES) throw new GraphSizeError(`a graph has at most ${MAX_NODES} nodes`);
  if (edges.length > MAX_EDGES) throw new GraphSizeError(`a graph has at most ${MAX_EDGES} edges`);
  checkAttributes(metadata);
}

/** @throws GraphSizeError */
export function checkAttributes(attributes: Attributes): void {
  if (Object.keys(attributes).length > MAX_ATTRIBUTES) {
    throw new GraphSizeError(`an element has at most ${MAX_ATTRIBUTES} attributes`);
  }
}

/** The descriptor of a graph in tool answers, which clients can send back unchanged. */
export function descriptorOf(document: GraphDocument, graphId: string, version: number) {
  const { name, nodes, edges, metadata } = document;
  return { graph_id: graphId, graph_version: version, name, nodes, edges, metadata };
}

export function normalisedGraph(document: GraphDocument, graphId: string, version: number) {
  const { name, nodes, edges, metadata } = document;
  return { name, graphId, graphVersion: version, nodes, edges, metadata };
}

/** Whether two graphs are equal. Identical objects are not compared further. */
export function* sameDocument(a: GraphDocument, b: GraphDocument): Pausable<boolean> {
  if (a === b) return true;
  if (a.name !== b.name || a.nodes.length !== b.nodes.length || a.edges.length !== b.edges.length) return false;
  if (!sameElement(a.metadata, b.metadata)) return false;
  for (const part of ['nodes', 'edges'] as const) {
    for (const [index, element] of a[part].entries()) {
      if (!sameElement(element, b[part][index])) return false;
      if (index % STRIDE === 0) yield;
    }
  }
  return true;
}

export function sameElement(a: object, b: object | undefined): boolean {
  return a === b || (b !== undefined && JSON.stringify(a) === JSON.stringify(b));
}
