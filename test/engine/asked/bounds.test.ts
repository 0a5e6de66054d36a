import { explainPlan } from '@mcp-pruner/why/explain.ts';
import { describe, expect, it } from 'vitest';
import { planPrune } from '../../../src/engine/plan.ts';
import { draws, mixed, places, saying, two } from './texts.ts';

const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
const hints = { origin: 'command', command: 'cat app.log' } as const;
const line = (i: number, id: string): string =>
  `2026-05-11T10:${two(i % 60)}:${two((i * 7) % 60)}Z INFO [${id}] ${saying(i)}`;

/** How many lines the rule keeps, if a share of 800 lines holds what the question names. */
function keptFor(goal: string, share: number): number {
  const n = 800;
  const lines = mixed(
    n,
    places(n, n * share, 7),
    (i) => line(i, `w-${i % 5}`),
    (i) => line(i, 'req-7f3a9c'),
  );
  const { regions } = explainPlan({ text: lines.join('\n'), goal, hints, limits });
  return regions.reduce(
    (sum, { rule, startLine, endLine }) => (rule === 'named' ? sum + endLine - startLine + 1 : sum),
    0,
  );
}

describe('what the question spells out', () => {
  it('stays up to a quarter of the text, and not at all if it is no longer rare', () => {
    expect(keptFor('What about req-7f3a9c?', 0.2)).toBeGreaterThan(800 * 0.19);
    expect(keptFor('What about req-7f3a9c?', 0.4)).toBeLessThan(20);
    const many = 'What about req-7f3a9c between 10:05 and 10:25?';
    expect(keptFor(many, 0.2)).toBeGreaterThan(800 * 0.2);
    expect(keptFor(many, 0.2)).toBeLessThanOrEqual(800 * 0.27);
  });

  it('keeps nothing for words that only resemble a superlative, a time or a number', () => {
    for (const goal of [
      'For the most part this is fine, at least at first.',
      'The ratio is 16:9 in main.ts:14:12, see chapter one.',
      'Look at the last 5 minutes and the first 10 lines.',
    ])
      expect(keptFor(goal, 0.1), goal).toBe(0);
  });
});

describe('a value far from all others of its column', () => {
  const table = (values: readonly number[]): string =>
    [
      '| region | requests |',
      '| ------ | -------- |',
      ...values.map((value, i) => `| r-${i}-${saying(i)} | ${value} |`),
    ].join('\n');
  const cutOf = (values: readonly number[]): number[] =>
    planPrune({
      text: table(values),
      goal: 'why does the upload fail?',
      hints: { origin: 'command', command: 'q' },
      limits,
    }).cuts.flatMap(({ startLine, endLine }) =>
      Array.from({ length: endLine - startLine + 1 }, (_, k) => startLine + k - 3),
    );

  it('stays although nobody asked for it', () => {
    const draw = draws(3);
    const values = Array.from({ length: 200 }, (_, i) => (i === 120 ? 83_641 : 120 + Math.floor(draw() * 60)));
    const cut = cutOf(values);
    expect(cut.length).toBeGreaterThan(100);
    expect(cut).not.toContain(120);
  });

  it('does not exist in a column whose values differ widely', () => {
    const draw = draws(4);
    const values = Array.from({ length: 200 }, () => Math.floor(Math.exp(draw() * 14)));
    const most = values.indexOf(Math.max(...values));
    const without = cutOf(values.map((value, i) => (i === most ? 150 : value)));
    expect(cutOf(values).length).toBeGreaterThanOrEqual(without.length - 1);
  });
});
