import { expect, it } from 'vitest';
import { planPrune } from '../../src/engine/plan.ts';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
import type { PruneInput } from '../../src/engine/types.ts';
import { sourceFile } from '../helpers/texts.ts';

const LIMITS = { maxPruneRatio: 0.9, minKeepLines: 20 };
const SIZES = [4, 10, 20, 40, 80, 160];

/** The share of the lines that go. */
function shareCut(functions: number, over: Partial<PruneInput>): number {
  const text = sourceFile(functions);
  const { cuts, lineCount } = planPrune({ text, goal: 'Why is a voucher counted twice?', limits: LIMITS, ...over });
  return cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0) / lineCount;
}

const file = { origin: 'read', path: 'src/a.ts' } as const;
const read = { hints: file };
const askedOf = { hints: { ...file, question: true } };

it('a small file is cut less than a large one', () => {
  const shares = SIZES.map((functions) => shareCut(functions, askedOf));
  expect(shares[0]).toBe(0);
  expect(shares.at(-1)).toBeGreaterThan(0.3);
  expect(shares.map((share, i) => share >= (shares[i - 1] ?? 0) - 0.05)).toEqual(SIZES.map(() => true));
});

it('the size does not matter for requested cuts', () => {
  expect(shareCut(10, { ...read, asked: true })).toBeGreaterThan(0.3);
});

/** The tokens that go of a file of so many functions. */
function tokensCut(functions: number, over: Partial<PruneInput>): number {
  const text = sourceFile(functions);
  const { cuts } = planPrune({ text, goal: 'Why is a voucher counted twice?', limits: LIMITS, ...over });
  const lines = text.split('\n');
  const gone = cuts.flatMap(({ startLine, endLine }) => lines.slice(startLine - 1, endLine));
  return estimateTokens(gone.join('\n'));
}

it('a file stays whole unless cuts save 8,000 tokens, because it may be edited', () => {
  const saved = [20, 40, 80, 160, 240].map((functions) => tokensCut(functions, read));
  expect(saved.filter((tokens) => tokens > 0 && tokens < 8_000)).toEqual([]);
  expect(saved[2]).toBe(0);
  expect(saved.at(-1)).toBeGreaterThan(8_000);
});

it('a file is cut for a smaller saving if the call asks a question, and a log is always cut', () => {
  expect(tokensCut(80, askedOf)).toBeGreaterThan(1_000);
  const log = Array.from({ length: 400 }, (_, i) => `2026-05-01 10:00:${i % 60} INFO request ${i} served`).join('\n');
  const { cuts } = planPrune({
    text: log,
    goal: 'what failed?',
    limits: LIMITS,
    hints: { origin: 'read', path: 'a.log' },
  });
  expect(cuts.length).toBeGreaterThan(0);
});
