import { expect, it } from 'vitest';
import { planPrune } from '../../src/engine/plan.ts';
import type { PruneInput } from '../../src/engine/types.ts';
import { sourceFile } from '../helpers/texts.ts';

const LIMITS = { maxPruneRatio: 0.9, minKeepLines: 20 };
const SIZES = [10, 20, 40, 80, 160];

/** The share of the lines that go. */
function shareCut(functions: number, over: Partial<PruneInput>): number {
  const text = sourceFile(functions);
  const { cuts, lineCount } = planPrune({ text, goal: 'Why is a voucher counted twice?', limits: LIMITS, ...over });
  return cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0) / lineCount;
}

const read = { hints: { origin: 'read', path: 'src/a.ts' } } as const;

it('cuts a small file that is read less boldly than a large one', () => {
  const shares = SIZES.map((functions) => shareCut(functions, read));
  expect(shares[0]).toBe(0);
  expect(shares.at(-1)).toBeGreaterThan(0.3);
  expect(shares.map((share, i) => share >= (shares[i - 1] ?? 0) - 0.05)).toEqual(SIZES.map(() => true));
});

it('lets the size have no say in what a program printed, nor where somebody asked for the cut', () => {
  const printed = { hints: { origin: 'command', command: 'node show.js' }, sourceType: 'code' } as const;
  expect(shareCut(10, printed)).toBeGreaterThan(0.3);
  expect(shareCut(10, { ...read, asked: true })).toBeGreaterThan(0.3);
});
