interface Call {
  readonly name: string;
  readonly args: object;
}

/** A call that is measured, and those that come before it, by the number of the round. */
export interface Measured {
  readonly what: string;
  readonly prepare?: (round: number) => readonly Call[];
  readonly name: string;
  readonly args: (round: number) => object;
}

const NODES = 10_000;
const CHANGED = 100;
const KIB = 1024;

const nodeIds = Array.from({ length: NODES }, (_, i) => `node-${String(i).padStart(5, '0')}`);
const nodes = nodeIds.map((id, i) => ({ id, label: `Task ${i}`, attributes: { state: 'open', cost: i % 17 } }));
const edges = nodeIds.slice(1).map((to, i) => ({ from: nodeIds[i], to, weight: 1 }));

/** Sets one attribute in nodes far from each other. */
function changes(value: number): object[] {
  const step = NODES / CHANGED;
  return Array.from({ length: CHANGED }, (_, i) => ({
    op: 'set_node_attribute',
    id: nodeIds[i * step],
    key: 'cost',
    value: 1000 + value,
  }));
}

function entries(bytes: number, round: number): object[] {
  return Array.from({ length: 100 }, (_, i) => ({
    key: `facts:${i}`,
    value: { text: String(round % 10).repeat(bytes), more: [i, { at: round }] },
    tags: ['a', 'b'],
  }));
}

const first = { operations: changes(0).slice(0, 1) };
const large = (round: number): Call[] =>
  round > 0 ? [] : [{ name: 'graph_mutate', args: { graph: { graph_id: 'g', nodes, edges }, ...first } }];
const tree = {
  id: 't',
  root: {
    kind: 'sequence',
    children: Array.from({ length: 499 }, (_, i) => ({ kind: 'task', node_id: `n${i}`, tool: 'noop', input: { i } })),
  },
};

/** The largest of each kind that the bounds allow, or near it. */
export const calls: readonly Measured[] = [
  { what: 'nothing: mcp_info', name: 'mcp_info', args: () => ({}) },
  {
    what: 'graph_mutate: a graph of 10,000 nodes and 9,999 edges is made',
    name: 'graph_mutate',
    args: (round) => ({ graph: { graph_id: `new-${round}`, nodes, edges }, ...first }),
  },
  {
    what: 'graph_diff: two versions of 10,000 nodes, 100 changed',
    prepare: (round) => [
      ...large(round),
      { name: 'graph_batch_mutate', args: { graph_id: 'g', operations: changes(2 * round + 1) } },
      { name: 'graph_batch_mutate', args: { graph_id: 'g', operations: changes(2 * round + 2) } },
    ],
    name: 'graph_diff',
    args: (round) => ({ graph_id: 'g', from: { version: 2 * round + 1 }, to: { latest: true } }),
  },
  {
    what: 'graph_batch_mutate: 100 operations on 10,000 nodes',
    name: 'graph_batch_mutate',
    args: (round) => ({ graph_id: 'g', operations: changes(500 + round) }),
  },
  {
    what: 'graph_patch: 1,000 operations on 10,000 nodes',
    name: 'graph_patch',
    args: (round) => ({
      graph_id: 'g',
      patch: Array.from({ length: 1_000 }, (_, i) => ({
        op: 'replace',
        path: `/nodes/${i * 10}/attributes/state`,
        value: `state ${round}`,
      })),
    }),
  },
  {
    what: 'resources_read: a graph of 10,000 nodes',
    name: 'resources_read',
    args: () => ({ uri: 'sc://graphs/g' }),
  },
  {
    what: 'bb_batch_set: 100 values of 1 KiB',
    name: 'bb_batch_set',
    args: (round) => ({ entries: entries(KIB, round) }),
  },
  {
    what: 'bb_batch_set: 100 values of 10 KiB',
    name: 'bb_batch_set',
    args: (round) => ({ entries: entries(10 * KIB, round) }),
  },
  {
    what: 'bb_watch: 200 changes of 10 KiB, before and after',
    name: 'bb_watch',
    args: () => ({ start_version: 0, limit: 200 }),
  },
  { what: 'bb_query: 100 values of 10 KiB', name: 'bb_query', args: () => ({ limit: 100 }) },
  {
    what: 'stig_batch: 200 marks',
    prepare: (round) =>
      round > 0
        ? []
        : Array.from({ length: 45 }, (_, part) => ({
            name: 'stig_batch',
            args: {
              entries: Array.from({ length: 200 }, (_, i) => ({
                node_id: nodeIds[part * 200 + i],
                type: 'load',
                intensity: 100,
              })),
            },
          })),
    name: 'stig_batch',
    args: (round) => ({
      entries: Array.from({ length: 200 }, (_, i) => ({ node_id: `m${i}`, type: 'load', intensity: 1 + round })),
    }),
  },
  { what: 'stig_snapshot: 9,000 pheromones', name: 'stig_snapshot', args: () => ({}) },
  { what: 'stig_decay: 9,000 pheromones', name: 'stig_decay', args: () => ({ half_life_ms: 86_400_000 }) },
  { what: 'plan_dry_run: a tree of 500 nodes', name: 'plan_dry_run', args: () => ({ tree }) },
  { what: 'plan_run_bt: a tree of 500 nodes', name: 'plan_run_bt', args: () => ({ tree }) },
];
