import type { SeenSegment } from 'mcp-pruner/core/ports/segments.ts';
import { expect, it } from 'vitest';
import { withoutReferredTo } from '../src/referred-to.ts';

const segment = (id: string, copies: readonly string[] = [], directed: SeenSegment['directed'] = null) =>
  ({
    id,
    hashes: [`hash of ${id}`],
    copies: copies.map((copy) => `hash of ${copy}`),
    directed,
  }) as unknown as SeenSegment;
const idsLeft = (chosen: readonly string[], segments: readonly SeenSegment[]): string[] =>
  withoutReferredTo(
    chosen.map((id) => ({ id })),
    segments,
  ).map(({ id }) => id);

it('a result to which a staying result refers stays, and the results to which it refers itself', () => {
  const segments = [segment('a'), segment('b', ['a']), segment('c', ['b']), segment('d')];
  expect(idsLeft(['a', 'b', 'd'], segments)).toEqual(['d']);
  expect(idsLeft(['a', 'b', 'c'], segments)).toEqual(['a', 'b', 'c']);
});

it('a result that was put aside refers to nothing any more', () => {
  expect(idsLeft(['a'], [segment('a'), segment('b', ['a'], 'aside')])).toEqual(['a']);
  expect(idsLeft(['a'], [segment('a'), segment('b', ['a'], 'pin')])).toEqual([]);
});
