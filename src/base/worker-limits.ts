import { getHeapStatistics } from 'node:v8';
import type { ResourceLimits } from 'node:worker_threads';

const MB = 1024 * 1024;
/** Sufficient for any worker's work; a lower limit would terminate workers. */
const MIN_OLD_MB = 64;
/** Young generation. The default, 16 MB and more, made a server 11 % larger for no measurable CPU time. */
const YOUNG_MB = 4;

/**
 * Heap limits of a worker thread. Without them, each thread could use as much as the main thread, and the process
 * several times the allowed heap.
 *
 * @param share - share of the main thread's limit
 * @param limitBytes - the main thread's limit
 */
export function workerLimits(share: number, limitBytes = getHeapStatistics().heap_size_limit): ResourceLimits {
  const oldMb = Math.max(MIN_OLD_MB, Math.round((limitBytes / MB) * share));
  return { maxOldGenerationSizeMb: oldMb, maxYoungGenerationSizeMb: YOUNG_MB };
}
