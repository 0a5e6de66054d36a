import fc from 'fast-check';
import type { GraphOperation } from '../src/graph/input.ts';
import {
  compareEdges,
  compareNodes,
  edgeOf,
  type GraphDocument,
  type GraphEdge,
  type GraphNode,
  nodeOf,
} from '../src/graph/model.ts';

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e/f', 'é', '~g');
const key = fc.constantFrom('state', 'from_port', 'to_port', 'max_in_degree', 'x/y');
const scalar = fc.oneof(fc.string({ maxLength: 4 }), fc.integer({ min: 0, max: 3 }), fc.boolean());
const attributes = fc.dictionary(key, scalar, { maxKeys: 3 });
const label = fc.option(fc.constantFrom('', 'one', 'two'), { nil: undefined });

export const nodeInput = fc.record({ id, label, attributes });
export const edgeInput = fc.record({
  from: id,
  to: id,
  label,
  weight: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
  attributes,
});

/** Graphs of few ids, so that two of them have much in common. */
export const graph: fc.Arbitrary<GraphDocument> = fc
  .record({
    name: fc.constantFrom('workflow', 'other'),
    metadata: fc.dictionary(fc.constantFrom('dag', 'require_labels', 'goal'), scalar, { maxKeys: 2 }),
    nodes: fc.uniqueArray(nodeInput, { selector: (node) => node.id }),
    edges: fc.uniqueArray(edgeInput, { selector: ({ from, to }) => `${from} ${to}` }),
  })
  .map(({ name, metadata, nodes, edges }) => {
    const ids = new Set(nodes.map((node) => node.id));
    return documentFrom(
      nodes.map(nodeOf),
      edges.filter(({ from, to }) => ids.has(from) && ids.has(to)).map(edgeOf),
      name,
      metadata,
    );
  });

export function documentFrom(
  nodes: readonly GraphNode[],
  edges: readonly GraphEdge[],
  name = 'workflow',
  metadata: GraphDocument['metadata'] = {},
): GraphDocument {
  const sorted = Object.fromEntries(Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { name, metadata: sorted, nodes: [...nodes].sort(compareNodes), edges: [...edges].sort(compareEdges) };
}

export const operation: fc.Arbitrary<GraphOperation> = fc.oneof(
  fc.record({ op: fc.constant('add_node' as const), node: nodeInput }),
  fc.record({ op: fc.constant('remove_node' as const), id }),
  fc.record({ op: fc.constant('rename_node' as const), id, new_id: id }),
  fc.record({ op: fc.constant('add_edge' as const), edge: edgeInput }),
  fc.record({ op: fc.constant('remove_edge' as const), from: id, to: id }),
  fc.record({
    op: fc.constant('set_node_attribute' as const),
    id,
    key: fc.oneof(key, fc.constant('label')),
    value: fc.option(scalar),
  }),
  fc.record({
    op: fc.constant('set_edge_attribute' as const),
    from: id,
    to: id,
    key: fc.oneof(key, fc.constantFrom('label', 'weight')),
    value: fc.option(scalar),
  }),
);
