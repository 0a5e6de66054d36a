import { expect, it } from 'vitest';
import { fittedToHeap } from '../../src/base/fitted-to-heap.ts';

it('a bound has its full size from a heap of 1 GiB on, and shrinks with a smaller one', () => {
  const gib = 1024 ** 3;
  expect([4 * gib, gib, gib / 4].map((limit) => fittedToHeap(400_000, limit))).toEqual([400_000, 400_000, 100_000]);
});
