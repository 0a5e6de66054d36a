import { getHeapStatistics } from 'node:v8';

/** The heap limit from which on bounds have their full size. */
const FULL_BYTES = 1024 ** 3;

/**
 * A bound of what is kept in memory, made smaller in proportion in a process with a heap limit below 1 GiB: together
 * the bounds would exceed a small heap.
 *
 * @param limitBytes - the heap limit
 */
export function fittedToHeap(most: number, limitBytes = getHeapStatistics().heap_size_limit): number {
  return Math.ceil(most * Math.min(1, limitBytes / FULL_BYTES));
}
