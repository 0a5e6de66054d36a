import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffGraphs, MAX_PATCH_OPERATIONS } from '../src/graph/diff.ts';
import type { GraphOperation } from '../src/graph/input.ts';
import { addedViolations, violationsOf } from '../src/graph/invariants.ts';
import { documentOf, edgeOf, GraphShapeError, nodeOf, sameDocument } from '../src/graph/model.ts';
import { applyOperations, GraphOperationError } from '../src/graph/operations.ts';
import { GraphPatchError, patchGraph } from '../src/graph/patch.ts';
import { readGraph, writeGraph } from '../src/graph/text.ts';
import { atOnce } from './at-once.ts';
import { documentFrom, graph, operation } from './graph-arbitraries.ts';

const abc = documentFrom(
  ['a', 'b', 'c'].map((id) => nodeOf({ id })),
  [edgeOf({ from: 'a', to: 'b', label: 'first' }), edgeOf({ from: 'b', to: 'c' })],
);

function large(nodes: number) {
  const ids = Array.from({ length: nodes }, (_, i) => `n${String(i).padStart(6, '0')}`);
  const edges = ids.slice(1).map((to, i) => edgeOf({ from: ids[i] ?? '', to, weight: i }));
  return documentFrom(
    ids.map((id) => nodeOf({ id, label: `node ${id}`, attributes: { state: 'open' } })),
    edges,
  );
}

/** A list that counts how often its elements are read. */
function counted<T extends object>(list: readonly T[], count: () => void): readonly T[] {
  return new Proxy(list, {
    get: (target, key) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) count();
      return Reflect.get(target, key) as unknown;
    },
  });
}

describe('graph operations', () => {
  it('never break the invariants of a graph, in any order', () => {
    fc.assert(
      fc.property(graph, fc.array(operation, { maxLength: 12 }), (start, operations) => {
        let document = start;
        for (const one of operations) {
          try {
            document = atOnce(applyOperations(document, [one])).document;
          } catch (cause) {
            expect(cause).toBeInstanceOf(GraphOperationError);
          }
        }
        // it can be read back from its own descriptor: unique ids, edges that end at nodes, canonical order
        expect(atOnce(documentOf(document))).toEqual(document);
        expect(JSON.stringify(atOnce(documentOf(document)))).toBe(JSON.stringify(document));
      }),
    );
  });

  it('report a change if and only if the graph differs', () => {
    fc.assert(
      fc.property(graph, operation, (start, one) => {
        try {
          const { document, applied } = atOnce(applyOperations(start, [one]));
          expect(applied[0]?.changed).toBe(!atOnce(sameDocument(start, document)));
        } catch (cause) {
          expect(cause).toBeInstanceOf(GraphOperationError);
        }
      }),
    );
  });

  it('leave the given graph unchanged, even if the last operation fails', () => {
    const before = JSON.stringify(abc);
    const operations: GraphOperation[] = [
      { op: 'remove_node', id: 'a' },
      { op: 'set_node_attribute', id: 'b', key: 'label', value: 'x' },
      { op: 'add_edge', edge: { from: 'b', to: 'nowhere' } },
    ];
    expect(() => atOnce(applyOperations(abc, operations))).toThrow(expect.objectContaining({ index: 2 }));
    expect(JSON.stringify(abc)).toBe(before);
  });

  it('update edges when their node is renamed, and remove them when it is removed', () => {
    const renamed = atOnce(applyOperations(abc, [{ op: 'rename_node', id: 'b', new_id: 'z' }])).document;
    expect(renamed.edges.map(({ from, to }) => [from, to])).toEqual([
      ['a', 'z'],
      ['z', 'c'],
    ]);
    expect(atOnce(applyOperations(abc, [{ op: 'remove_node', id: 'b' }])).document.edges).toEqual([]);
    expect(() => atOnce(applyOperations(abc, [{ op: 'rename_node', id: 'a', new_id: 'b' }]))).toThrow('in use');
  });

  it('merge repeated additions, treat null as removal, and store label and weight as edge fields', () => {
    const { document, applied } = atOnce(
      applyOperations(abc, [
        { op: 'add_node', node: { id: 'a', attributes: { state: 'open' } } },
        { op: 'add_node', node: { id: 'a' } },
        { op: 'set_edge_attribute', from: 'a', to: 'b', key: 'weight', value: 2 },
        { op: 'set_edge_attribute', from: 'a', to: 'b', key: 'label', value: null },
        { op: 'set_node_attribute', id: 'a', key: 'state', value: null },
      ]),
    );
    expect(applied.map(({ changed }) => changed)).toEqual([true, false, true, true, true]);
    expect(document.edges[0]).toEqual({ from: 'a', to: 'b', weight: 2, attributes: {} });
    expect(document.nodes[0]).toEqual({ id: 'a', attributes: {} });
  });
});

describe('a graph serialised as text', () => {
  it('can be read back unchanged', () => {
    fc.assert(fc.property(graph, (one) => void expect(atOnce(readGraph(atOnce(writeGraph(one))))).toEqual(one)));
  });

  it('is refused if it is not a valid graph descriptor', () => {
    const nodes = [{ id: 'a' }, { id: 'a' }];
    expect(() => atOnce(documentOf({ nodes, edges: [] }))).toThrow(GraphShapeError);
    expect(() => atOnce(documentOf({ nodes: [{ id: 'a' }], edges: [{ from: 'a', to: 'b' }] }))).toThrow(
      expect.objectContaining({ field: 'edges[0].to' }),
    );
  });
});

describe('diff and patch', () => {
  it('turn any graph into any other', () => {
    fc.assert(
      fc.property(graph, graph, (from, to) => {
        const { patch, summary } = atOnce(diffGraphs(from, to));
        expect(atOnce(patchGraph(from, patch))).toEqual(to);
        expect(patch.length === 0).toBe(atOnce(sameDocument(from, to)));
        expect(Object.values(summary).some(Boolean)).toBe(patch.length > 0);
      }),
    );
  });

  it('list only the differences, however long the lists are', () => {
    const from = large(2000);
    const { document: to } = atOnce(
      applyOperations(from, [
        { op: 'remove_node', id: 'n000000' },
        { op: 'set_node_attribute', id: 'n000999', key: 'state', value: 'done' },
      ]),
    );
    expect(atOnce(diffGraphs(from, to)).patch).toEqual([
      { op: 'remove', path: '/nodes/0' },
      { op: 'replace', path: '/nodes/998/attributes/state', value: 'done' },
      { op: 'remove', path: '/edges/0' },
    ]);
  });

  it('stay short enough to be returned, even if everything differs', () => {
    const from = large(3000);
    const to = documentFrom(
      from.nodes.map((node) => nodeOf({ ...node, attributes: { state: 'done' } })),
      from.edges.map((edge) => edgeOf({ ...edge, weight: 1 })),
    );
    const { patch } = atOnce(diffGraphs(from, to));
    expect(patch.length).toBeLessThanOrEqual(MAX_PATCH_OPERATIONS);
    expect(atOnce(patchGraph(from, patch))).toEqual(to);
  });

  it.each([
    ['a test that fails', [{ op: 'test', path: '/name', value: 'x' }], 0],
    ['an invalid path', [{ op: 'remove', path: 'nodes' }], 0],
    ['a place to copy from that is none', [{ op: 'copy', from: 'nodes', path: '/metadata/x' }], 0],
    ['a path that does not exist', [{ op: 'remove', path: '/nodes/9' }], 0],
    ['a way to the prototype', [{ op: 'add', path: '/metadata/__proto__/x', value: 1 }], 0],
    ['a way over the constructor', [{ op: 'add', path: '/constructor/prototype/x', value: 1 }], 0],
    ['a result that is no graph', [{ op: 'add', path: '/edges/-', value: { from: 'a', to: 'q' } }], null],
    ['a result with an unknown part', [{ op: 'add', path: '/extra', value: 1 }], null],
    ['a nested attribute', [{ op: 'add', path: '/nodes/0/attributes/x', value: {} }], null],
    ['copies of copies', Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '', path: `/x${i}` })), 18],
  ] as const)('refuse %s and change nothing', (_what, patch, index) => {
    const before = JSON.stringify(abc);
    let thrown: unknown;
    try {
      atOnce(patchGraph(abc, patch as never));
    } catch (cause) {
      thrown = cause;
    }
    expect(thrown).toBeInstanceOf(GraphPatchError);
    if (index !== 18) expect((thrown as GraphPatchError).index).toBe(index);
    else expect((thrown as GraphPatchError).message).toContain('copies too much');
    expect(JSON.stringify(abc)).toBe(before);
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  it('pause every few hundred nodes in a graph of ten thousand nodes', () => {
    const from = large(10_000);
    const every = from.nodes.filter((_, i) => i % 25 === 0).map(({ id }) => id);
    const { document: to } = atOnce(
      applyOperations(
        from,
        every.map((id) => ({ op: 'set_node_attribute', id, key: 'state', value: 'done' })),
      ),
    );
    let read = 0;
    const count = (): void => void read++;
    const { nodes, edges } = from;
    const work = diffGraphs({ ...from, nodes: counted(nodes, count), edges: counted(edges, count) }, to);
    let mostInATurn = 0;
    for (let step = work.next(); ; step = work.next()) {
      mostInATurn = Math.max(mostInATurn, read);
      read = 0;
      if (!step.done) continue;
      expect(step.value.patch).toHaveLength(every.length);
      break;
    }
    expect(mostInATurn).toBeGreaterThan(0);
    expect(mostInATurn).toBeLessThan(600);
  });
});

describe('the rules declared by a graph', () => {
  const cyclic = documentFrom(abc.nodes, [...abc.edges, edgeOf({ from: 'c', to: 'a' })], 'workflow', { dag: true });

  it.each([
    ['a cycle', cyclic, 'E-GRAPH-CYCLE'],
    ['a missing label', documentFrom(abc.nodes, [], 'g', { require_labels: true }), 'E-NODE-LABEL'],
    ['an edge without label', documentFrom(abc.nodes, abc.edges, 'g', { require_edge_labels: true }), 'E-EDGE-LABEL'],
    ['an edge without ports', documentFrom(abc.nodes, abc.edges, 'g', { require_ports: true }), 'E-EDGE-PORT'],
    ['too many edges in', documentFrom(abc.nodes, abc.edges, 'g', { max_in_degree: 0 }), 'E-IN-DEGREE'],
    ['too many edges out', documentFrom(abc.nodes, abc.edges, 'g', { max_out_degree: 0 }), 'E-OUT-DEGREE'],
  ])('find %s', (_what, document, code) => {
    expect(atOnce(violationsOf(document)).map((violation) => violation.code)).toContain(code);
  });

  it('prefer the node’s own limit, and impose no constraints unless declared', () => {
    const own = documentFrom(
      abc.nodes.map((node) => nodeOf({ ...node, attributes: { max_in_degree: 5 } })),
      abc.edges,
      'g',
      { max_in_degree: 0 },
    );
    expect(atOnce(violationsOf(own))).toEqual([]);
    expect(atOnce(violationsOf({ ...cyclic, metadata: {} }))).toEqual([]);
  });

  it('find a cycle if and only if the nodes cannot be ordered topologically', () => {
    fc.assert(
      fc.property(graph, (one) => {
        const left = new Set(one.nodes.map(({ id }) => id));
        for (let again = true; again; ) {
          const free = [...left].filter((id) => !one.edges.some(({ from, to }) => to === id && left.has(from)));
          for (const id of free) left.delete(id);
          again = free.length > 0;
        }
        const violations = atOnce(violationsOf({ ...one, metadata: { dag: true } }));
        expect(violations.some(({ code }) => code === 'E-GRAPH-CYCLE')).toBe(left.size > 0);
      }),
    );
  });

  it('report only new violations', () => {
    const violations = atOnce(violationsOf(cyclic));
    expect(addedViolations(violations, violations)).toEqual([]);
    expect(addedViolations([], violations)).toEqual(violations);
  });
});
