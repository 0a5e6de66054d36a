import { describe, expect, it } from 'vitest';
import { billed, type PastTurn, paceOf, simulate } from '../src/thresholds.ts';

/** Dollars of a token, so that costs can be counted by hand. */
const RATES = { input: 1e6, write5m: 1e6, write1h: 1e6, read: 0.1e6, output: 5e6 };
const NO_REST = { summary: 1_000, readsAgain: 0 };

/** A request that finds all but its new tokens in the cache. */
function turn(input: number, added: number, more: Partial<PastTurn> = {}): PastTurn {
  return {
    fresh: added,
    write5m: 0,
    write1h: 0,
    read: input - added,
    output: 0,
    atMs: 0,
    rates: RATES,
    seam: false,
    ...more,
  };
}

/** A first request of 10,000 tokens, and further ones that add 1,000 each. */
function growing(requests: number, seams: readonly number[] = []): PastTurn[] {
  return Array.from({ length: requests }, (_, i) =>
    turn(10_000 + 1_000 * i, i === 0 ? 10_000 : 1_000, { seam: seams.includes(i) }),
  );
}

describe('simulated compactions', () => {
  it('change nothing below their length, or without a seam', () => {
    const turns = growing(20);
    for (const rule of [{ at: 'length', tokens: 100_000 } as const, { at: 'seam', tokens: 1 } as const])
      expect(simulate(turns, rule, NO_REST)).toEqual({ cost: billed(turns), compactions: 0 });
  });

  it('at a length, leave head and summary for the next request, which finds only the head in the cache', () => {
    const turns = [turn(10_000, 10_000), turn(40_000, 30_000), turn(41_000, 1_000), turn(42_000, 1_000)];
    const { cost, compactions } = simulate(turns, { at: 'length', tokens: 40_000 }, NO_REST);
    // 10,000 + (1,000 read + 30,000), the compaction (4,000 read, 5,000 written), 1,000 read + 2,000 new, 1,200 + 1,000
    expect(cost).toBeCloseTo(10_000 + 31_000 + (4_000 + 5_000) + (1_000 + 2_000) + (1_200 + 1_000), 6);
    expect(compactions).toBe(1);
  });

  it('at a seam, replace what was before it from the request after the seam on', () => {
    const turns = [
      ...[turn(10_000, 10_000), turn(40_000, 30_000), turn(41_000, 1_000, { seam: true })],
      ...[turn(42_000, 1_000), turn(43_000, 1_000)],
    ];
    const { cost } = simulate(turns, { at: 'seam', tokens: 40_000 }, NO_REST);
    // the seam's own request as it was; then head, summary and the two messages since
    const before = 10_000 + 31_000 + (4_000 + 1_000);
    expect(cost).toBeCloseTo(before + (4_000 + 5_000) + (1_000 + 3_000) + (1_300 + 1_000), 6);
  });

  it('keep a cold cache cold: what the provider did not read is billed as it was, without what was replaced', () => {
    const cold = turn(42_000, 42_000);
    const turns = [turn(10_000, 10_000), turn(40_000, 30_000), turn(41_000, 1_000), cold];
    const { cost } = simulate(turns, { at: 'length', tokens: 40_000 }, NO_REST);
    expect(cost).toBeCloseTo(10_000 + 31_000 + 9_000 + 3_000 + 13_000, 6);
  });

  it('end where the client restarted its history itself', () => {
    const turns = [turn(10_000, 10_000), turn(40_000, 30_000), turn(41_000, 1_000), turn(12_000, 2_000)];
    const { cost } = simulate(turns, { at: 'length', tokens: 40_000 }, NO_REST);
    expect(cost).toBeCloseTo(10_000 + 31_000 + 9_000 + 3_000 + (1_000 + 2_000), 6);
  });

  it('cost more in the pessimistic case: files are read again by requests of their own', () => {
    const turns = growing(60, [30]);
    const rule = { at: 'seam', tokens: 20_000 } as const;
    const usual = simulate(turns, rule, NO_REST);
    const again = simulate(turns, rule, { ...NO_REST, readsAgain: 4 });
    expect(again.cost - usual.cost).toBeGreaterThan(4 * 5_000);
    expect(again.compactions).toBe(usual.compactions);
  });

  it('happen only where they pay twice within the requests that are expected, and never again too soon', () => {
    const turns = growing(60, [30, 33, 42]);
    const rule = { at: 'seam', tokens: 12_000 } as const;
    const count = (remaining: number) => simulate(turns, rule, NO_REST, () => remaining).compactions;
    expect(count(0)).toBe(0);
    expect(count(3)).toBe(0);
    expect(count(100)).toBe(2); // the second seam is too soon after the first
    expect(simulate(turns, rule, NO_REST).compactions).toBe(3);
    const dear = turns.map((one) => ({ ...one, rates: { ...RATES, output: 100e6 } }));
    const unpaid = simulate(dear, rule, NO_REST, () => 1_000).compactions;
    expect(unpaid).toBe(1); // the first has not paid back at the third
  });
});

it('the pace is how many requests most conversations still had at a length, known from five of them on', () => {
  const sizes = (requests: number) => Array.from({ length: requests }, (_, i) => 10_000 * (i + 1));
  const four = [12, 14, 16, 40].map(sizes);
  expect(paceOf(four)(100_000)).toBe(0);
  const pace = paceOf([...four, sizes(11)]);
  expect(pace(100_000)).toBe(4);
  expect(pace(105_000)).toBe(4);
  expect(pace(150_000)).toBe(0);
});
