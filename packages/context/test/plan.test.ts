import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byPruningOrder, planOf, type Rated } from '../src/plan.ts';

/** Few scores and sizes, so that ties are common; every one has an id of its own. */
const candidates = fc
  .array(fc.record({ score: fc.integer({ min: 0, max: 6 }), tokens: fc.integer({ min: 1, max: 50 }) }), {
    maxLength: 60,
  })
  .map((list) => list.map(({ score, tokens }, i): Rated => ({ id: `seg_${i}`, score: score / 6, tokens })));

describe('the order of candidates', () => {
  it('is by score, then by size, then by id', () => {
    const one = { id: 'b', score: 0.5, tokens: 10 };
    const list = [one, { ...one, id: 'a' }, { ...one, tokens: 11 }, { ...one, id: 'c', score: 0.6, tokens: 1 }];
    expect(list.toSorted(byPruningOrder).map(({ id, tokens }) => `${id} ${tokens}`)).toEqual([
      'c 1',
      'b 11',
      'a 10',
      'b 10',
    ]);
  });

  it('does not depend on the order of the input', () => {
    const shuffled = candidates.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    fc.assert(
      fc.property(shuffled, ([list, again]) => {
        expect(again.toSorted(byPruningOrder)).toEqual(list.toSorted(byPruningOrder));
      }),
    );
  });
});

describe('a plan', () => {
  it('takes candidates in order until the target is met, and no more', () => {
    fc.assert(
      fc.property(candidates, fc.integer({ min: 0, max: 1_500 }), (list, target) => {
        const sorted = list.toSorted(byPruningOrder);
        const { chosen, tokens } = planOf(sorted, target);
        expect(chosen).toEqual(sorted.slice(0, chosen.length));
        expect(tokens).toBe(chosen.reduce((sum, one) => sum + one.tokens, 0));
        const last = chosen.at(-1);
        if (last) expect(tokens - last.tokens).toBeLessThan(target);
        if (tokens < target) expect(chosen).toHaveLength(list.length);
      }),
      { numRuns: 300 },
    );
  });
});
