import { getHeapStatistics } from 'node:v8';

/** Heap limit from which on limits apply in full. */
const FULL_BYTES = 1024 ** 3;

/**
 * Scales an in-memory limit down in proportion if the heap limit is below 1 GiB, because all limits together would
 * exceed a small heap.
 *
 * @param limitBytes - the heap limit
 */
export function fittedToHeap(most: number, limitBytes = getHeapStatistics().heap_size_limit): number {
  return Math.ceil(most * Math.min(1, limitBytes / FULL_BYTES));
}
