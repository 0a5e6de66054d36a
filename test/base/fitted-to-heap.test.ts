import { expect, it } from 'vitest';
import { fittedToHeap } from '../../src/base/fitted-to-heap.ts';

it('a bound has its full size for heaps of at least 1 GiB, and shrinks with smaller heaps', () => {
  const gib = 1024 ** 3;
  expect([4 * gib, gib, gib / 4].map((limit) => fittedToHeap(400_000, limit))).toEqual([400_000, 400_000, 100_000]);
});
