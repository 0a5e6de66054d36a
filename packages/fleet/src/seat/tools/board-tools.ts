import { defineTool, type Tool } from 'mcp-pruner/mcp/tool.ts';
import { z } from 'zod';
import type { Board } from '../../blackboard/board.ts';
import { queryInput, watchInput, writeInput } from '../../blackboard/input.ts';
import { id } from '../../graph/input.ts';
import { callerOf, ENDS, READS, REPLACES } from './inputs.ts';

const family = { namespace: 'blackboard', faces: ['rpc'] as const, flag: '--enable-blackboard' };
export function boardTools(board: Board): Tool[] {
  return [
    defineTool({
      ...family,
      name: 'bb_set',
      annotations: REPLACES,
      summary: 'Write a fact to the blackboard.',
      description:
        'Write a JSON value under a key, replacing an existing value with its tags and ttl_ms. What stands before the ' +
        'first : / or | of the key is its namespace. Returns JSON: the entry with its version.',
      input: writeInput,
      async run(input, context) {
        const [entry] = await board.set([input], callerOf(context));
        return entry ?? {};
      },
    }),
    defineTool({
      ...family,
      name: 'bb_get',
      annotations: READS,
      summary: 'Read a fact of the blackboard.',
      description: 'Read the entry of a key. Returns JSON: entry (key, value, tags, times, version).',
      input: z.strictObject({ key: id }),
      run: async ({ key }) => ({ entry: await board.get(key) }),
    }),
    defineTool({
      ...family,
      name: 'bb_query',
      annotations: READS,
      summary: 'Find facts of the blackboard.',
      description:
        'Find entries by keys, by all of some tags, by namespace; newest first. Returns JSON: entries, next_cursor ' +
        '(give it back as cursor for the next page; null at the end).',
      input: queryInput,
      run: (query) => board.query(query),
    }),
    defineTool({
      ...family,
      name: 'bb_watch',
      annotations: READS,
      summary: 'Follow changes of the blackboard.',
      description:
        'Changes with a version above start_version (exclusive: the last one seen), ascending; waits up to wait_ms for the ' +
        'first. Call again with start_version = next_version. truncated: true says that older changes are no longer kept.',
      input: watchInput,
      run: (query, { signal }) => board.watch(query, signal),
    }),
    defineTool({
      ...family,
      name: 'bb_delete',
      annotations: ENDS,
      summary: 'Delete a fact from the blackboard.',
      description: 'Delete the entry of a key. Returns JSON: key, deleted (false if there was none).',
      input: z.strictObject({ key: id }),
      run: ({ key }, context) => board.delete(key, callerOf(context)),
    }),
  ];
}

export function boardBatchTool(board: Board): Tool {
  return defineTool({
    ...family,
    name: 'bb_batch_set',
    annotations: REPLACES,
    namespace: 'bulk',
    flag: '--enable-bulk',
    summary: 'Write many facts at once, all or none.',
    description: 'bb_set for 1 to 100 entries, all or none. Returns JSON: entries in order, versions ascending.',
    input: z.strictObject({ entries: z.array(writeInput).min(1).max(100) }),
    run: async ({ entries }, context) => ({ entries: await board.set(entries, callerOf(context)) }),
  });
}
