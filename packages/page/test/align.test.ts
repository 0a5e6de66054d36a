import { describe, expect, it } from 'vitest';
import { alignedRequests } from '../src/ui/parts/align.ts';

describe('texts and the requests that sent them', () => {
  it('belong together if requests follow each other slowly', () => {
    expect(alignedRequests([0, 60_000, 120_000], [2_000, 63_000, 121_000])).toEqual([0, 1, 2]);
  });

  it('belong together in a burst whose bills are booked late', () => {
    const groups = [0, 10, 20, 30, 40];
    expect(alignedRequests(groups, [25, 40, 45, 55, 66])).toEqual([0, 1, 2, 3, 4]);
  });

  it('skip requests without new texts', () => {
    expect(alignedRequests([0, 120_000], [2_000, 63_000, 121_000])).toEqual([0, 2]);
  });

  it('belong to the retry if their own request failed and was not billed', () => {
    expect(alignedRequests([0, 10_000], [2_000, 18_000])).toEqual([0, 1]);
    expect(alignedRequests([0, 10_000, 15_000], [2_000, 18_000])).toEqual([0, 1, 1]);
  });

  it('are in order, one index for each group, within the requests', () => {
    const times = (length: number, step: number) => Array.from({ length }, (_, i) => i * step + ((i * 7919) % 13));
    for (const [groups, requests] of [
      [9, 5],
      [5, 9],
      [1, 1],
      [0, 4],
      [40, 40],
    ] as const) {
      const found = alignedRequests(times(groups, 11), times(requests, 17));
      expect(found).toHaveLength(groups);
      expect(found).toEqual(found.toSorted((a, b) => a - b));
      expect(found.every((one) => one >= 0 && one < requests)).toBe(true);
    }
    expect(alignedRequests([1, 2], [])).toEqual([-1, -1]);
  });
});
