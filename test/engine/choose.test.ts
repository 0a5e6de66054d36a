import { describe, expect, it } from 'vitest';
import { budgetOf } from '../../src/engine/choose/choice.ts';
import { type Choice, chooseRuns } from '../../src/engine/choose/runs.ts';
import { type View, viewText } from '../../src/engine/text/view.ts';
import type { Limits } from '../../src/engine/types.ts';

/** Lines of ten tokens each; `value` is what each is worth, with a price of 0.1 a token. */
function choice(value: readonly number[], more: Partial<Choice> = {}): Choice {
  const n = value.length;
  const tens = new Float64Array(n).fill(10);
  return {
    n,
    value: Float64Array.from(value),
    tokens: tens,
    size: tens,
    keep: new Uint8Array(n),
    glued: new Uint8Array(n),
    markerSize: 15,
    price: 0.1,
    budget: n,
    ...more,
  };
}

describe('the cut runs', () => {
  it('join lines worth less than their tokens, and single more valuable lines between them', () => {
    expect(chooseRuns(choice([9, 0, 0, 0, 9, 9]))).toEqual([{ from: 1, to: 3 }]);
    expect(chooseRuns(choice([9, 0, 0, 0, 1.2, 0, 0, 9]))).toEqual([{ from: 1, to: 6 }]);
  });

  it('are empty if a marker costs more than they save', () => {
    expect(chooseRuns(choice([9, 0, 9, 0, 9]))).toEqual([]);
  });

  it('never contain a protected line, nor separate glued lines', () => {
    expect(chooseRuns(choice([0, 0, 0, 0, 0, 0, 0], { keep: Uint8Array.of(0, 0, 0, 1, 0, 0, 0) }))).toEqual([
      { from: 0, to: 2 },
      { from: 4, to: 6 },
    ]);
    const glued = Uint8Array.of(0, 0, 0, 0, 1, 1);
    expect(chooseRuns(choice([0, 0, 0, 0, 0, 9], { glued }))).toEqual([{ from: 0, to: 2 }]);
  });

  it('stay within the budget, and use it for the cheapest runs first', () => {
    const runs = chooseRuns(choice([0.1, 0.1, 0.1, 0.1, 9, 0, 0, 0, 0], { budget: 4 }));
    expect(runs).toEqual([{ from: 5, to: 8 }]);
  });

  it('are empty without a budget or without lines', () => {
    expect(chooseRuns(choice([0, 0, 0], { budget: 0 }))).toEqual([]);
    expect(chooseRuns(choice([]))).toEqual([]);
  });
});

describe('the budget', () => {
  const view = (lines: number, chars = 10): View => viewText(`${'x'.repeat(chars - 1)}\n`.repeat(lines), 0);
  const limits = (maxPruneRatio: number): Limits => ({ maxPruneRatio, minKeepLines: 20 });

  it('is the smaller of the two limits', () => {
    expect(budgetOf(view(100), { limits: limits(0.9) })).toBe(80);
    expect(budgetOf(view(100), { limits: limits(0.29) })).toBe(29);
    expect(budgetOf(view(10), { limits: limits(0.9) })).toBe(-10);
  });

  it('counts a very long line as several, unless the caller set the limits', () => {
    expect(budgetOf(view(10, 1_000), { limits: limits(0.9) })).toBe(6);
    expect(budgetOf(view(10, 1_000), { limits: limits(0.9), asked: true })).toBe(-10);
  });
});
