import { applyPatch, type Operation } from 'rfc6902';
import { z } from 'zod';
import type { Pausable } from '../turns.ts';
import {
  attributes,
  type EdgeInput,
  edgeInput,
  type GraphDescriptor,
  isKey,
  type NodeInput,
  nodeInput,
} from './input.ts';
import { checkAttributes, documentOf, type GraphDocument, GraphShapeError, MAX_GRAPH_BYTES } from './model.ts';

export class GraphPatchError extends Error {
  override readonly name = 'GraphPatchError';
  /** Index of the failed operation; `null` if the final result is not a valid graph. */
  readonly index: number | null;
  readonly path: string;

  constructor(index: number | null, path: string, message: string) {
    super(message);
    this.index = index;
    this.path = path;
  }
}

const STRIDE = 16;

/**
 * Applies an RFC 6902 patch to a copy of a graph.
 *
 * @throws GraphPatchError for a failed `test`, a missing path, and an invalid resulting graph; GraphSizeError
 */
export function* patchGraph(document: GraphDocument, patch: readonly Operation[]): Pausable<GraphDocument> {
  const copy = yield* copyOf(document);
  let copiedChars = 0;
  for (const [index, operation] of patch.entries()) {
    if (!pathsOf(operation).every(isPointer)) {
      throw new GraphPatchError(index, operation.path, 'a path must be empty or begin with /');
    }
    if (namesPrototype(operation)) throw new GraphPatchError(index, operation.path, 'there is no such path');
    // limits repeated copies, because each operation could double the graph
    if (operation.op === 'copy') copiedChars += sizeAt(copy, operation.from);
    if (copiedChars > MAX_GRAPH_BYTES) throw new GraphPatchError(index, operation.path, 'the patch copies too much');
    // the library keeps a reference to the value, which later operations would change
    const [failure] = applyPatch(copy, [structuredClone(operation)]);
    if (failure) throw new GraphPatchError(index, operation.path, reasonOf(failure));
    if (index % STRIDE === 0) yield;
  }
  return yield* asGraph(copy);
}

function reasonOf(failure: Error): string {
  if (failure.name === 'TestError') return 'the test failed';
  if (failure.name === 'MissingError') return 'there is no such path';
  return 'the operation cannot be applied';
}

function pathsOf(operation: Operation): readonly string[] {
  return 'from' in operation ? [operation.path, operation.from] : [operation.path];
}

/** A JSON pointer as in RFC 6901 §3. */
function isPointer(path: string): boolean {
  return path === '' || path.startsWith('/');
}

function namesPrototype(operation: Operation): boolean {
  return pathsOf(operation).some((path) => path.split('/').some((part) => part !== '' && !isKey(part.slice(0, 200))));
}

function* copyOf({ name, metadata, nodes, edges }: GraphDocument): Pausable<object> {
  const copied = function* <Element extends { readonly attributes: object }>(list: readonly Element[]) {
    const copies: Element[] = [];
    for (const element of list) {
      copies.push({ ...element, attributes: { ...element.attributes } });
      if (copies.length % 512 === 0) yield;
    }
    return copies;
  };
  return { name, metadata: { ...metadata }, nodes: yield* copied(nodes), edges: yield* copied(edges) };
}

function sizeAt(document: object, pointer: string): number {
  let value: unknown = document;
  for (const part of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return 0;
    value = (value as Record<string, unknown>)[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return JSON.stringify(value)?.length ?? 0;
}

const headShape = z.strictObject({
  name: z.string().min(1).max(200),
  metadata: attributes.optional(),
  nodes: z.array(z.unknown()),
  edges: z.array(z.unknown()),
});

function* asGraph(value: object): Pausable<GraphDocument> {
  const head = headShape.safeParse(value);
  if (!head.success) throw notAGraph('', head.error);
  const descriptor: GraphDescriptor = {
    ...head.data,
    nodes: yield* read(head.data.nodes, '/nodes', nodeInput),
    edges: yield* read(head.data.edges, '/edges', edgeInput),
  };
  checkAttributes(head.data.metadata ?? {});
  try {
    return yield* documentOf(descriptor);
  } catch (cause) {
    if (cause instanceof GraphShapeError) throw new GraphPatchError(null, cause.field, cause.message);
    throw cause;
  }
}

function* read<Element extends NodeInput | EdgeInput>(
  list: readonly unknown[],
  path: string,
  shape: z.ZodType<Element>,
): Pausable<Element[]> {
  const elements: Element[] = [];
  for (const [index, item] of list.entries()) {
    const element = shape.safeParse(item);
    if (!element.success) throw notAGraph(`${path}/${index}`, element.error);
    checkAttributes(element.data.attributes ?? {});
    elements.push(element.data);
    if (index % 64 === 0) yield;
  }
  return elements;
}

function notAGraph(path: string, error: z.ZodError): GraphPatchError {
  const [issue] = error.issues;
  const at = (issue?.path ?? []).map((part) => `/${String(part)}`).join('');
  return new GraphPatchError(null, path + at, `the result is not a valid graph: ${issue?.message ?? 'wrong shape'}`);
}
