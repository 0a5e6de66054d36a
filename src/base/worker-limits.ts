import { getHeapStatistics } from 'node:v8';
import type { ResourceLimits } from 'node:worker_threads';

const MB = 1024 * 1024;
/** Enough for any work that threads are given; a smaller limit would end them. */
const MIN_OLD_MB = 64;
/** New objects; a small heap is meant to be small as a whole. */
const MIN_YOUNG_MB = 4;
const MAX_YOUNG_MB = 16;
const YOUNG_SHARE = 1 / 64;

/**
 * The heap limits of a worker thread. Without them each thread may use as much as the main thread, so that a process has
 * several times the heap that its operator allowed.
 *
 * @param share - of the main thread's limit
 * @param limitBytes - the main thread's limit
 */
export function workerLimits(share: number, limitBytes = getHeapStatistics().heap_size_limit): ResourceLimits {
  const limitMb = limitBytes / MB;
  return {
    maxOldGenerationSizeMb: Math.max(MIN_OLD_MB, Math.round(limitMb * share)),
    maxYoungGenerationSizeMb: Math.round(Math.min(MAX_YOUNG_MB, Math.max(MIN_YOUNG_MB, limitMb * YOUNG_SHARE))),
  };
}
