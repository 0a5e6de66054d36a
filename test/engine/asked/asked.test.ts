import { describe, expect, it } from 'vitest';
import { planPrune } from '../../../src/engine/plan.ts';
import { extremeCases } from './extremes.ts';
import { idCases } from './ids.ts';
import { languageCases } from './languages.ts';
import { pieceCases } from './pieces.ts';
import { publicCases } from './public.ts';
import type { AskedCase } from './texts.ts';
import { timeCases } from './times.ts';

/** The answers that are cut. */
function lostOf({ lines, goal, hints, answers }: AskedCase): { lost: string[]; cut: number } {
  const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
  const { cuts } = planPrune({ text: lines.join('\n'), goal, hints, limits });
  const isCut = (i: number): boolean => cuts.some(({ startLine, endLine }) => i + 1 >= startLine && i + 1 <= endLine);
  const lost = answers.filter(isCut).map((i) => lines[i] ?? '');
  return { lost, cut: cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0) };
}

describe.each([
  ['an id, number, path or quotation of the question', idCases],
  ['a time of the question', timeCases],
  ['the extreme that the question asks for', extremeCases],
  ['a failure in another language', languageCases],
  ['a row or a part of a record that matters', pieceCases],
  ['a line that another tool lost, as reported in public', publicCases],
])('%s', (_, cases) => {
  it.each(cases.map((one) => [one.name, one] as const))('stays: %s', (_name, one) => {
    expect(one.answers.length).toBeGreaterThan(0);
    const { lost, cut } = lostOf(one);
    expect(lost).toEqual([]);
    // most of the text goes
    if (one.mayStay !== true) expect(cut).toBeGreaterThan(one.lines.length / 3);
  });
});
