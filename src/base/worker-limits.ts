import { getHeapStatistics } from 'node:v8';
import type { ResourceLimits } from 'node:worker_threads';

const MB = 1024 * 1024;
/** Sufficient for any worker's work; a lower limit would terminate workers. */
const MIN_OLD_MB = 64;
/** Young generation; small, because a small heap is meant to be small as a whole. */
const MIN_YOUNG_MB = 4;
const MAX_YOUNG_MB = 16;
const YOUNG_SHARE = 1 / 64;

/**
 * Heap limits of a worker thread. Without them, each thread could use as much as the main thread, and the process
 * several times the allowed heap.
 *
 * @param share - share of the main thread's limit
 * @param limitBytes - the main thread's limit
 */
export function workerLimits(share: number, limitBytes = getHeapStatistics().heap_size_limit): ResourceLimits {
  const limitMb = limitBytes / MB;
  return {
    maxOldGenerationSizeMb: Math.max(MIN_OLD_MB, Math.round(limitMb * share)),
    maxYoungGenerationSizeMb: Math.round(Math.min(MAX_YOUNG_MB, Math.max(MIN_YOUNG_MB, limitMb * YOUNG_SHARE))),
  };
}
