import { createPatch, type Operation } from 'rfc6902';
import type { Pausable } from '../turns.ts';
import { compareEdges, compareNodes, type GraphDocument, sameElement } from './model.ts';

export type PatchOperation = Operation;

interface GraphDiff {
  readonly patch: PatchOperation[];
  readonly summary: {
    readonly name: boolean;
    readonly metadata: boolean;
    readonly nodes: boolean;
    readonly edges: boolean;
  };
}

/** Maximum number of operations per patch; a list that needs more than its share is replaced as a whole. */
export const MAX_PATCH_OPERATIONS = 1000;
/** Operations reserved for the name, the metadata and the replacement of whole lists. */
const RESERVE = 140;
const STRIDE = 256;

/**
 * The patch that turns one graph into another. Sorted lists are merged here; the library only compares single elements,
 * because its running time is quadratic in list length.
 */
export function* diffGraphs(from: GraphDocument, to: GraphDocument): Pausable<GraphDiff> {
  const name: PatchOperation[] = from.name === to.name ? [] : [{ op: 'replace', path: '/name', value: to.name }];
  const metadata = under('/metadata', from.metadata, to.metadata);
  const half = (MAX_PATCH_OPERATIONS - RESERVE) / 2;
  const nodes = yield* diffList('/nodes', from.nodes, to.nodes, compareNodes, half);
  const edges = yield* diffList('/edges', from.edges, to.edges, compareEdges, half);
  return {
    patch: [...name, ...metadata, ...nodes, ...edges],
    summary: {
      name: name.length > 0,
      metadata: metadata.length > 0,
      nodes: nodes.length > 0,
      edges: edges.length > 0,
    },
  };
}

/** Compares two lists in the same order. Operations are applied from left to right, so that indexes stay valid. */
function* diffList<Element extends object>(
  path: string,
  from: readonly Element[],
  to: readonly Element[],
  compare: (a: Element, b: Element) => number,
  atMost: number,
): Pausable<PatchOperation[]> {
  const patch: PatchOperation[] = [];
  let [old, index] = [0, 0];
  for (let steps = 0; ; steps++) {
    const [before, after] = [from[old], to[index]];
    if (before === undefined && after === undefined) return patch;
    if (patch.length > atMost) return [{ op: 'replace', path, value: to }];
    if (steps % STRIDE === 0) yield;
    const order = before === undefined ? 1 : after === undefined ? -1 : compare(before, after);
    if (order < 0) {
      patch.push({ op: 'remove', path: `${path}/${index}` });
      old++;
      continue;
    }
    if (order > 0) patch.push({ op: 'add', path: `${path}/${index}`, value: after });
    else if (before && after) {
      if (!sameElement(before, after)) patch.push(...under(`${path}/${index}`, before, after));
      old++;
    }
    index++;
  }
}

/** The library's patch of one element, with paths prefixed by the element's own path. */
function under(path: string, from: object, to: object): PatchOperation[] {
  if (sameElement(from, to)) return [];
  return createPatch(from, to).map((operation) => ({ ...operation, path: path + operation.path }));
}
