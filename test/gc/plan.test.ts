import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { goesBefore, Plan, type Rated, Top } from '../../src/gc/top.ts';

/** Few scores and sizes, so that ties are common; every one has an id of its own. */
const candidates = fc
  .array(fc.record({ score: fc.integer({ min: 0, max: 6 }), tokens: fc.integer({ min: 1, max: 50 }) }), {
    maxLength: 60,
  })
  .chain((list) =>
    fc.shuffledSubarray(
      list.map(({ score, tokens }, i): Rated => ({ id: `seg_${i}`, score: score / 6, tokens })),
      { minLength: list.length },
    ),
  );

/** What the words of the contract say: highest score first until the target is met, and then no more. */
function bySorting(list: readonly Rated[], target: number): Rated[] {
  const out: Rated[] = [];
  let freed = 0;
  for (const candidate of list.toSorted((a, b) => (goesBefore(a, b) ? -1 : 1))) {
    if (freed >= target) break;
    out.push(candidate);
    freed += candidate.tokens;
  }
  return out;
}

function planOf(list: readonly Rated[], target: number): { chosen: readonly Rated[]; tokens: number } {
  const plan = new Plan<Rated>(target);
  for (const candidate of list) plan.offer(candidate);
  return { tokens: plan.tokens, chosen: plan.take() };
}

describe('a plan', () => {
  it('is what sorting all candidates would give, in whatever order they come', () => {
    fc.assert(
      fc.property(candidates, fc.integer({ min: 0, max: 1_500 }), (list, target) => {
        const { chosen, tokens } = planOf(list, target);
        expect(chosen).toEqual(bySorting(list, target));
        expect(tokens).toBe(chosen.reduce((sum, one) => sum + one.tokens, 0));
      }),
      { numRuns: 500 },
    );
  });

  it('holds no candidate that it could do without', () => {
    fc.assert(
      fc.property(candidates, fc.integer({ min: 1, max: 1_500 }), (list, target) => {
        const { chosen, tokens } = planOf(list, target);
        const last = chosen.at(-1);
        if (last) expect(tokens - last.tokens).toBeLessThan(target);
        if (tokens < target) expect(chosen).toHaveLength(list.length);
      }),
    );
  });

  it('is the same of thousands, which do not all fit in what it holds', () => {
    const scores = fc.constantFrom(1, 7, 10_000);
    const some = fc.record({
      seed: fc.nat(),
      count: fc.integer({ min: 900, max: 6_000 }),
      scores,
      percent: fc.integer({ min: 0, max: 110 }),
    });
    fc.assert(
      fc.property(some, ({ seed, count, scores: different, percent }) => {
        const pick = (i: number, limit: number) => (Math.imul(i + seed + 1, 2_654_435_761) >>> 7) % limit;
        const list = Array.from(
          { length: count },
          (_, i): Rated => ({
            id: `seg_${pick(i, count)}_${i}`,
            score: pick(i * 3, different) / different,
            tokens: 1 + pick(i * 7, 300),
          }),
        );
        const target = Math.round((percent / 100) * list.reduce((sum, { tokens }) => sum + tokens, 0));
        const { chosen, tokens } = planOf(list, target);
        expect(chosen).toEqual(bySorting(list, target));
        expect(tokens).toBe(chosen.reduce((sum, one) => sum + one.tokens, 0));
      }),
      { numRuns: 30 },
    );
  });

  it('of more than a thousand candidates still takes the very best', () => {
    const list = Array.from({ length: 5_000 }, (_, i) => ({
      id: `seg_${i}`,
      score: ((i * 7_919) % 5_000) / 5_000,
      tokens: 10,
    }));
    const { chosen } = planOf(list, 20_000);
    expect(chosen).toHaveLength(2_000);
    expect(Math.min(...chosen.map(({ score }) => score))).toBe(3_000 / 5_000);
    expect(chosen[0]?.score).toBe(4_999 / 5_000);
  });
});

describe('the list of candidates', () => {
  it('is the front of all of them in order', () => {
    fc.assert(
      fc.property(candidates, fc.integer({ min: 1, max: 70 }), (list, most) => {
        const top = new Top<Rated>(most);
        for (const candidate of list) top.offer(candidate);
        expect(top.take()).toEqual(list.toSorted((a, b) => (goesBefore(a, b) ? -1 : 1)).slice(0, most));
      }),
    );
  });
});
