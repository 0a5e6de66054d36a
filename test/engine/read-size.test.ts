import { expect, it } from 'vitest';
import { planPrune } from '../../src/engine/plan.ts';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
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

/** The share of the tokens that goes of a file of so many functions behind imports, which stay. */
function shareSaved(imports: number, over: Partial<PruneInput>): number {
  const head = Array.from({ length: imports }, (_, i) => `import { counted${i} } from './vouchers/counted-${i}.ts';`);
  const text = [...head, sourceFile(80)].join('\n');
  const { cuts } = planPrune({ text, goal: 'Why is a voucher counted twice?', limits: LIMITS, ...over });
  const lines = text.split('\n');
  const gone = cuts.flatMap(({ startLine, endLine }) => lines.slice(startLine - 1, endLine));
  return estimateTokens(gone.join('\n')) / estimateTokens(text);
}

it('leaves a file that is read whole where less than three tenths of it would go', () => {
  const counts = [100, 200, 300, 400, 500, 700, 1000];
  const shares = counts.map((imports) => shareSaved(imports, read));
  expect(shares.filter((share) => share > 0 && share < 0.3)).toEqual([]);
  expect(shares[0]).toBeGreaterThan(0.3);
  expect(shares.at(-1)).toBe(0);
  expect(shareSaved(1000, { ...read, asked: true })).toBeGreaterThan(0.2);
});
