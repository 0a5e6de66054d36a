import { z } from 'zod';
import type { Resources } from '../resources/registry.ts';
import { defineTool, type Tool } from '../tool.ts';
import { MAX_RESOURCE_ITEMS, RESOURCES_FLAG } from './resources-list.ts';

/** Maximum wait of one call; shorter than the one-minute time-out of MCP clients. */
export const MAX_WAIT_MS = 30_000;
export const DEFAULT_EVENTS = 100;

const input = z.strictObject({
  uri: z.string().min(1),
  from_seq: z.int().min(0).optional(),
  limit: z.int().positive().max(MAX_RESOURCE_ITEMS).optional(),
  wait_ms: z.int().min(0).max(MAX_WAIT_MS).optional(),
});

export function resourcesWatchTool(resources: Resources): Tool {
  return defineTool({
    name: 'resources_watch',
    namespace: 'resources',
    summary: 'Follow the events of a run or the log of an agent.',
    description:
      'Entries of sc://runs/<runId>/events or sc://children/<childId>/logs from from_seq on (inclusive), in order. ' +
      'Call again with from_seq = next_seq for what follows. wait_ms waits for a new entry if there is none ' +
      `(at most ${MAX_WAIT_MS}). Returns JSON: uri, kind, events, next_seq.`,
    flag: RESOURCES_FLAG,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input,
    async run({ uri, from_seq, limit, wait_ms }, { signal }) {
      const query = { uri, fromSeq: from_seq ?? 0, limit: limit ?? DEFAULT_EVENTS, waitMs: wait_ms ?? 0, signal };
      const { kind, events, nextSeq } = await resources.watch(query);
      return { uri, kind, events, next_seq: nextSeq };
    },
  });
}
