import { z } from 'zod';
import type { Resources } from '../resources/registry.ts';
import { boundedList, defineTool, type Tool } from '../tool.ts';
import { MAX_RESOURCE_ITEMS } from './resources-list.ts';
import { DEFAULT_EVENTS, MAX_WAIT_MS } from './resources-watch.ts';

const EVENTS_FLAG = '--enable-events-bus';
const MAX_KINDS = 50;

const input = z.strictObject({
  from_seq: z.int().min(0).optional(),
  limit: z.int().positive().max(MAX_RESOURCE_ITEMS).optional(),
  wait_ms: z.int().min(0).max(MAX_WAIT_MS).optional(),
  run_id: z.string().min(1).optional(),
  kinds: boundedList(z.string().min(1), MAX_KINDS).optional(),
});

export function eventsWatchTool(resources: Resources): Tool {
  return defineTool({
    name: 'events_watch',
    namespace: 'events',
    summary: 'Follow the events of all runs.',
    description:
      'Events of all conversations from from_seq on (inclusive), in order; run_id and kinds narrow them. Call again with ' +
      `from_seq = next_seq for what follows. wait_ms waits for a new event (at most ${MAX_WAIT_MS}). ` +
      'Returns JSON: events, next_seq.',
    flag: EVENTS_FLAG,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input,
    async run({ from_seq, limit, wait_ms, run_id, kinds }, { signal }) {
      const query = { fromSeq: from_seq ?? 0, limit: limit ?? DEFAULT_EVENTS, waitMs: wait_ms ?? 0, signal };
      const { events, nextSeq } = await resources.watchAll(
        query,
        ({ runId, kind }) =>
          (run_id === undefined || runId === run_id) && (kinds === undefined || kinds.includes(kind)),
      );
      return { events, next_seq: nextSeq };
    },
  });
}
