import { describe, expect, it } from 'vitest';
import { difference, randomFrom } from '../../src/ledger/holdout.ts';

describe('the interval of a hold-out', () => {
  it('holds the true difference in at least 95 of 100 experiments with costs as skewed as those of conversations', () => {
    const next = randomFrom(20_261_123);
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
    const cost = (mean: number): number => mean * Math.exp(0.8 * normal() - 0.32);
    const truth = 1.4 - 2;
    let held = 0;
    for (let i = 0; i < 200; i++) {
      const pruned = Array.from({ length: 270 }, () => cost(1.4));
      const control = Array.from({ length: 30 + (i % 60) }, () => cost(2));
      const { interval } = difference(pruned, control);
      if (interval && interval[0] <= truth && truth <= interval[1]) held++;
    }
    expect(held).toBeGreaterThanOrEqual(190);
  });

  it('is none where there are too few to tell', () => {
    const many = Array.from({ length: 500 }, (_, i) => i);
    expect(difference(many, many.slice(0, 19)).interval).toBeNull();
    expect(difference(many, many.slice(0, 20)).interval).not.toBeNull();
  });
});
