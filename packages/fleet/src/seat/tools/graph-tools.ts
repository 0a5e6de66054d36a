import { defineTool, type Tool } from 'mcp-pruner/mcp/tool.ts';
import { z } from 'zod';
import type { PatchOperation } from '../../graph/diff.ts';
import type { Graphs } from '../../graph/graphs.ts';
import { descriptor, hintFields, id, operations, ttl } from '../../graph/input.ts';
import { ADDS, callerOf, ENDS, note, owner, READS, REPLACES, SETS } from './inputs.ts';

const family = { namespace: 'graph', faces: ['rpc'] as const };
const RECORDS =
  'Operations: add_node, remove_node, rename_node, add_edge, remove_edge, set_node_attribute, set_edge_attribute';

const selector = z.union([
  z.strictObject({ latest: z.literal(true) }),
  z.strictObject({ version: z.int().min(1) }),
  z.strictObject({ graph: descriptor }),
]);

const pointer = z.string().max(2000);
const patchOperation = z.discriminatedUnion('op', [
  z.strictObject({ op: z.enum(['add', 'replace', 'test']), path: pointer, value: z.unknown() }),
  z.strictObject({ op: z.literal('remove'), path: pointer }),
  z.strictObject({ op: z.enum(['move', 'copy']), from: pointer, path: pointer }),
]);

export function graphTools(graphs: Graphs): Tool[] {
  return [
    defineTool({
      ...family,
      name: 'graph_mutate',
      annotations: REPLACES,
      flag: '--enable-graphs',
      summary: 'Make a task graph, or change the committed version of one.',
      description:
        'Make a graph (unknown or absent graph_id), or apply operations to the committed version given as descriptor; ' +
        `all or nothing. ${RECORDS} (value null removes; keys label and weight mean the fields). ` +
        'Returns JSON: graph, applied, committed_version, changed.',
      input: z.strictObject({
        graph: descriptor,
        operations,
        owner,
        note,
        run_id: hintFields.run_id,
        op_id: hintFields.op_id,
        job_id: hintFields.job_id,
      }),
      async run({ graph, operations: list, owner: who, note: why, ...hints }, context) {
        const author = { owner: who, note: why, hints, caller: callerOf(context) };
        const { invariants: _, ...answer } = await graphs.mutate(graph, list, author);
        return answer;
      },
    }),
    ...patchTools(graphs),
    ...lockTools(graphs),
    ...transactionTools(graphs),
  ];
}

function patchTools(graphs: Graphs): Tool[] {
  return [
    defineTool({
      ...family,
      name: 'graph_diff',
      annotations: READS,
      flag: '--enable-diff-patch',
      summary: 'Compare two versions of a graph.',
      description:
        'Compare two versions of a graph, or a version with a descriptor: from and to are {latest: true}, {version: n} or ' +
        '{graph: descriptor}. Returns JSON: changed, patch (RFC 6902, for graph_patch), summary of what differs.',
      input: z.strictObject({ graph_id: id, from: selector, to: selector }),
      run: ({ graph_id, from, to }) => graphs.diff(graph_id, from, to),
    }),
    defineTool({
      ...family,
      name: 'graph_patch',
      annotations: REPLACES,
      flag: '--enable-diff-patch',
      summary: 'Apply a patch of RFC 6902 to a graph.',
      description:
        'Apply a patch of RFC 6902 to {name, metadata, nodes, edges} of a graph and commit it, all or nothing. base_version ' +
        'guards against changes by others; the rules in its metadata are checked unless enforce_invariants is false.',
      input: z.strictObject({
        graph_id: id,
        patch: z.array(patchOperation).min(1).max(1000),
        base_version: z.int().min(0).optional(),
        enforce_invariants: z.boolean().default(true),
        owner,
        note,
      }),
      run: ({ graph_id, patch, base_version, enforce_invariants, owner: who, note: why }, context) =>
        graphs.patch(graph_id, patch as PatchOperation[], base_version, enforce_invariants, {
          owner: who,
          note: why,
          caller: callerOf(context),
        }),
    }),
  ];
}

function lockTools(graphs: Graphs): Tool[] {
  return [
    defineTool({
      ...family,
      name: 'graph_lock',
      annotations: SETS,
      flag: '--enable-locks',
      summary: 'Keep others from changing a graph.',
      description:
        'Lock a graph for a holder: changes by others are refused until graph_unlock or the end of ttl_ms. The same holder ' +
        'asking again keeps its lock_id and restarts ttl_ms. Readers are not blocked.',
      input: z.strictObject({ graph_id: id, holder: z.string().trim().min(1).max(120), ttl_ms: ttl }),
      run: ({ graph_id, holder, ttl_ms }, context) => graphs.locks.take(graph_id, holder, ttl_ms, callerOf(context)),
    }),
    defineTool({
      ...family,
      name: 'graph_unlock',
      annotations: SETS,
      flag: '--enable-locks',
      summary: 'Free a lock of a graph.',
      description: 'Release a lock by its lock_id. expired says whether it had already expired.',
      input: z.strictObject({ lock_id: z.uuid() }),
      run: ({ lock_id }, context) => graphs.locks.free(lock_id, callerOf(context)),
    }),
  ];
}

/** @param isKeyed - the idempotency wrapper handles the key, not the tool itself */
export function graphBatchTool(graphs: Graphs, isKeyed: boolean): Tool {
  const fields = {
    graph_id: id,
    operations,
    expected_version: z.int().min(0).optional(),
    owner,
    note,
  };
  return defineTool({
    ...family,
    name: 'graph_batch_mutate',
    annotations: REPLACES,
    namespace: 'bulk',
    flag: '--enable-bulk',
    summary: 'Apply many operations to a graph, all or none.',
    description:
      'Apply operations to the latest version of a graph, all or none; changed: false when none changed anything. ' +
      'expected_version guards against changes by others (0: the graph is made): to claim a node of a task graph, set its ' +
      `state with the version you read, and read again on a conflict. ${RECORDS}.`,
    input: z.strictObject(isKeyed ? fields : { ...fields, idempotency_key: z.string().min(1).optional() }),
    async run({ graph_id, operations: list, expected_version, owner: who, note: why }, context) {
      const author = { owner: who, note: why, caller: callerOf(context) };
      const { invariants: _, ...answer } = await graphs.batchMutate(graph_id, list, expected_version, author);
      return isKeyed ? answer : { ...answer, idempotent: false, idempotency_key: null };
    },
  });
}

function transactionTools(graphs: Graphs): Tool[] {
  const tx = { ...family, flag: '--enable-tx' };
  const byId = z.strictObject({ tx_id: z.uuid() });
  return [
    defineTool({
      ...tx,
      name: 'tx_begin',
      annotations: ADDS,
      summary: 'Begin a transaction on a graph.',
      description:
        'Begin a transaction on the committed version of a graph: tx_apply changes a working copy that nobody else sees, ' +
        'tx_commit makes it the next version, tx_rollback drops it. It outlives a restart; ttl_ms ends it by itself.',
      input: z.strictObject({
        graph_id: id,
        expected_version: z.int().min(0).optional(),
        owner,
        note,
        ttl_ms: ttl,
        graph: descriptor.optional(),
        run_id: hintFields.run_id,
        op_id: hintFields.op_id,
        job_id: hintFields.job_id,
      }),
      run: ({ graph_id, expected_version, owner: who, note: why, ttl_ms, graph, ...hints }, context) =>
        graphs.transactions.begin(
          { graphId: graph_id, expectedVersion: expected_version, ttlMs: ttl_ms, graph },
          { owner: who, note: why, hints, caller: callerOf(context) },
        ),
    }),
    defineTool({
      ...tx,
      name: 'tx_apply',
      annotations: ADDS,
      summary: 'Change the working copy of a transaction.',
      description: `Apply operations to the working copy of a transaction; a call that fails leaves it as it was. ${RECORDS}.`,
      input: z.strictObject({ tx_id: z.uuid(), operations }),
      run: ({ tx_id, operations: list }) => graphs.transactions.apply(tx_id, list),
    }),
    defineTool({
      ...tx,
      name: 'tx_commit',
      annotations: REPLACES,
      summary: 'Make the working copy of a transaction the next version.',
      description:
        'Commit a transaction. If the graph has changed in the meantime, the commit is refused, and the transaction stays open until tx_rollback.',
      input: byId,
      run: ({ tx_id }, context) => graphs.transactions.commit(tx_id, callerOf(context)),
    }),
    defineTool({
      ...tx,
      name: 'tx_rollback',
      annotations: ENDS,
      summary: 'Drop a transaction.',
      description: 'Drop the working copy of a transaction; the graph stays as it is. Also allowed while it is locked.',
      input: byId,
      run: ({ tx_id }, context) => graphs.transactions.rollback(tx_id, callerOf(context)),
    }),
  ];
}
