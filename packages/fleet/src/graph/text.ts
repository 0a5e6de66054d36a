import type { Pausable } from '../turns.ts';
import { type GraphDocument, type GraphEdge, type GraphNode, GraphSizeError, MAX_GRAPH_BYTES } from './model.ts';

interface Header {
  readonly name: string;
  readonly metadata: GraphDocument['metadata'];
  /** Number of node lines; the remaining lines are edges. */
  readonly nodes: number;
}

const STRIDE = 128;

/**
 * Writes a graph as JSON lines: a header, the nodes, the edges. `readGraph` is its inverse. One line per element, so
 * that reading and writing can pause and do not block the event loop.
 *
 * @throws GraphSizeError above the size limit
 */
export function* writeGraph({ name, metadata, nodes, edges }: GraphDocument): Pausable<string> {
  const header: Header = { name, metadata, nodes: nodes.length };
  const lines = [JSON.stringify(header)];
  let bytes = 0;
  for (const element of concat(nodes, edges)) {
    const line = JSON.stringify(element);
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > MAX_GRAPH_BYTES) throw new GraphSizeError(`a graph takes at most ${MAX_GRAPH_BYTES} bytes`);
    lines.push(line);
    if (lines.length % STRIDE === 0) yield;
  }
  return lines.join('\n');
}

export function* readGraph(text: string): Pausable<GraphDocument> {
  const end = lineEnd(text, 0);
  const header = JSON.parse(text.slice(0, end)) as Header;
  const nodes: GraphNode[] = [];
  const edges: GraphEdge[] = [];
  let start = end + 1;
  for (let count = 0; start < text.length; count++) {
    const stop = lineEnd(text, start);
    const element = JSON.parse(text.slice(start, stop)) as unknown;
    if (count < header.nodes) nodes.push(element as GraphNode);
    else edges.push(element as GraphEdge);
    start = stop + 1;
    if (count % STRIDE === 0) yield;
  }
  return { name: header.name, metadata: header.metadata, nodes, edges };
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

function* concat(nodes: readonly GraphNode[], edges: readonly GraphEdge[]): Generator<GraphNode | GraphEdge> {
  yield* nodes;
  yield* edges;
}
