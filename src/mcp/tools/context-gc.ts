import { z } from 'zod';
import { PrunerError, StoreUnavailable } from '../../errors.ts';
import { boundedList } from '../tool-input.ts';

/** More segments than any conversation has; bounds the work of one call. */
const MAX_SEGMENTS = 10_000;

export const projectId = z
  .string()
  .min(1)
  .max(200)
  .describe('Project of the conversation: what requests say in x-mcp-pruner-project, otherwise "default".');

export const segmentIds = boundedList(z.string(), MAX_SEGMENTS).describe(
  'Ids of segments, as context_gc_analyze gives them.',
);

/** What an empty list of segments is answered with. */
export const NOTHING_NAMED = 'segment_ids is empty: nothing to do. context_gc_analyze lists segments.';

/**
 * Waits for work on the store.
 *
 * @throws PrunerError `store_unavailable` when the store cannot serve now; then nothing was changed
 */
export async function onStore<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (!(cause instanceof StoreUnavailable)) throw cause;
    const hint = 'The store cannot be used now; nothing was changed. Try again later.';
    throw new PrunerError('store_unavailable', { reason: cause.reason, hint }, { cause });
  }
}
