import fc from 'fast-check';
import { splitLines } from 'mcp-pruner/engine/text/lines.ts';
import { describe, expect, it } from 'vitest';
import { BASELINES } from '../src/baselines.ts';
import { keepsBounds } from '../src/evaluate.ts';
import { areaOf, budgetFor, keptBy, outcomeOf, recallAt, runsOf } from '../src/score.ts';
import { select } from '../src/select.ts';
import { structuralLines } from '../src/structure.ts';
import { type CaseRow, summarise } from '../src/summary.ts';
import { terms } from '../src/terms.ts';

const baseline = (name: string) => {
  const found = BASELINES.find((b) => b.name === name);
  if (found === undefined) throw new Error(name);
  return found;
};

const input = (lines: string[], goal: string, needed: number[] = [1]) => ({
  id: 'case',
  goal,
  sourceType: 'code' as const,
  lines,
  words: lines.map(terms),
  needed,
});

describe('the area under the curve of recall against saving', () => {
  it('is 1 for full recall at full saving, and 0.5 without any points', () => {
    expect(areaOf([[1, 1]])).toBe(1);
    expect(areaOf([])).toBe(0.5);
    expect(areaOf([[0.5, 1]])).toBeCloseTo(0.75);
  });

  it('uses, for each saving, the best recall reached at that saving or a greater one', () => {
    const points = [[0.4, 0.6] as const, [0.6, 0.8] as const];
    expect(areaOf(points)).toBeCloseTo(areaOf([[0.6, 0.8]]));
    expect(recallAt(points, 0.6)).toBeCloseTo(0.8);
    expect(recallAt(points, 0.8)).toBeCloseTo(0.4);
    expect(recallAt(points, 0.3)).toBeCloseTo(0.9);
  });
});

describe('select', () => {
  it('keeps no more lines than the budget allows, and fills short gaps if requested', () => {
    const scores = fc.array(fc.double({ noNaN: true, min: 0, max: 1 }), { minLength: 1, maxLength: 80 });
    fc.assert(
      fc.property(scores, fc.nat(100), fc.boolean(), (values, budget, gaps) => {
        const kept = select(Float64Array.from(values), budget, gaps, null).reduce((a, b) => a + b, 0);
        expect(kept).toBeLessThanOrEqual(Math.max(gaps ? 1 : 0, budget));
        if (budget <= values.length && budget > 0) expect(kept).toBe(budget);
      }),
    );
    const peaks = Float64Array.from([9, 0, 8, 0, 0, 7, 0, 0, 0, 0]);
    expect(runsOf(select(peaks, 6, true, null), 1)).toEqual([{ startLine: 1, endLine: 6 }]);
    const first = Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
    expect(runsOf(select(peaks, 3, false, first), 1)).toEqual([
      { startLine: 1, endLine: 1 },
      { startLine: 9, endLine: 10 },
    ]);
  });
});

describe('the baselines', () => {
  const lines = Array.from({ length: 40 }, (_, i) => `    filler_${i} = ${i}`);
  lines[20] = '    debounceDelay = clampDelay(wait)';

  it('rank the line with the words of the goal first', () => {
    for (const name of ['grep', 'bm25', 'reference']) {
      const scores = baseline(name).scores(input(lines, 'why is the debounce delay clamped?'));
      expect([name, scores.indexOf(Math.max(...scores))]).toEqual([name, 20]);
    }
  });

  it('rank rare failures of a log above its repeated lines', () => {
    const log = Array.from({ length: 60 }, (_, i) => `12:00:${i} INFO served item ${i}`);
    log[30] = '12:00:30 FATAL cannot open the database';
    const scores = baseline('reference').scores({ ...input(log, ''), sourceType: 'logs' });
    expect(scores.indexOf(Math.max(...scores))).toBe(30);
  });

  it('include an oracle that ranks every needed line first', () => {
    const kept = select(baseline('oracle').scores(input(lines, '', [5, 33])), 2, false, null);
    expect(runsOf(kept, 1).map((run) => run.startLine)).toEqual([5, 33]);
  });

  it('draw the same random blocks for the same case', () => {
    const { scores } = baseline('random');
    expect(scores(input(lines, 'a'))).toEqual(scores(input(lines, 'b')));
    expect(scores({ ...input(lines, 'a'), id: 'other' })).not.toEqual(scores(input(lines, 'a')));
  });
});

describe('outcomeOf', () => {
  it('counts the cost of markers, and measures recall and structure on the lines that stay', () => {
    const text = `import os\n${'x = 1\n'.repeat(40)}def needed():\n`;
    const lines = splitLines(text);
    const structural = structuralLines(text.trimEnd().split('\n'), 'code');
    const outcome = outcomeOf(lines, keptBy([{ startLine: 2, endLine: 21 }], lines.count), [2, 42], structural);
    expect(outcome).toMatchObject({ recall: 0.5, structure: 1, keptLines: 22 });
    const marker = '⟦PRUNÉ: prune_id=prn_000000000000 lignes 2-21 (20) raison=hors focus⟧\n';
    expect(outcome.savedChars).toBeCloseTo((120 - marker.length) / text.length);
  });

  it('counts every marker after the first as short if the proxy writes short markers', () => {
    const lines = splitLines('x = 1\n'.repeat(60));
    const cuts = [
      { startLine: 2, endLine: 21 },
      { startLine: 31, endLine: 50 },
    ];
    const charsOf = (areShort: boolean): number => {
      const outcome = outcomeOf(lines, keptBy(cuts, lines.count), [1], new Uint8Array(lines.count), { areShort });
      return Math.round((1 - outcome.savedChars) * 360) - 120;
    };
    const first = '⟦PRUNÉ: prune_id=prn_000000000000 lignes 2-21 (20) raison=hors focus⟧\n'.length;
    expect(charsOf(false)).toBe(2 * first + 1); // 31-50 is one figure longer than 2-21
    expect(charsOf(true)).toBe(first + '⟦PRUNÉ: lignes 31-50 (20)⟧\n'.length);
  });

  it('uses budgets that respect both the maximum ratio and the minimum number of kept lines', () => {
    expect(budgetFor(100, 0.7, 20)).toBe(30);
    expect(budgetFor(100, 0.9, 20)).toBe(20);
    expect(budgetFor(10, 0.9, 20)).toBe(10);
  });
});

describe('keepsBounds', () => {
  const plan = (...cuts: [number, number][]) => ({
    sourceType: 'code' as const,
    kind: 'python',
    lineCount: 100,
    cuts: cuts.map(([startLine, endLine]) => ({ startLine, endLine, reason: '' })),
    warnings: [],
  });

  it('detects cuts that overlap, touch, extend beyond the text or remove too much', () => {
    expect(keepsBounds(plan([1, 20], [30, 40]), 100, 0.5, 20)).toBe(true);
    expect(keepsBounds(plan([1, 20], [20, 40]), 100, 0.5, 20)).toBe(false);
    expect(keepsBounds(plan([1, 20], [21, 40]), 100, 0.5, 20)).toBe(false);
    expect(keepsBounds(plan([90, 101]), 100, 0.5, 20)).toBe(false);
    expect(keepsBounds(plan([1, 51]), 100, 0.5, 20)).toBe(false);
    expect(keepsBounds(plan([1, 85]), 100, 0.9, 20)).toBe(false);
  });
});

describe('the structural lines', () => {
  it('are declarations in code', () => {
    const declared = [
      'import os',
      'from a.b import c',
      "const fs = require('fs');",
      '#include <stdio.h>',
      'use std::io;',
      'export default async function run(x) {',
      '  pub(crate) fn parse(input: &str) -> Result<()> {',
      'func (s *Server) Serve() error {',
      'type Options struct {',
      '    public static void main(String[] args) {',
      'static int compare(const void *a, const void *b)',
      'class Foo extends Bar {',
    ];
    const others = ['x = 1', 'return call(a);', 'if (a) {', '  value: string;', 'classify(x)', 'public int x = f(3);'];
    expect([...structuralLines([...declared, ...others], 'code')]).toEqual([
      ...declared.map(() => 1),
      ...others.map(() => 0),
    ]);
  });

  it('are headings in docs, including reStructuredText, and failures in logs', () => {
    expect([...structuralLines(['# A', 'text', 'Title', '=====', '', '```js'], 'docs')]).toEqual([1, 0, 1, 1, 0, 1]);
    expect([...structuralLines(['ok', 'Traceback (most recent call last):'], 'logs')]).toEqual([0, 1]);
  });
});

describe('summarise', () => {
  it('scales skill so that random blocks score 0 and the oracle scores 1', () => {
    const at = (recall: number) => [{ recall, savedChars: 0.5, savedTokens: 0.5, keptLines: 5, structure: null }];
    const row: CaseRow = {
      group: 'py',
      family: 'code',
      systems: new Map([
        ['mcp-pruner', at(0.8)],
        ['random', at(0.4)],
        ['oracle', at(1)],
      ]),
    };
    const skills = summarise('all', [row, row], [0.5]).systems.map((s) => [s.name, Number(s.skill.toFixed(3))]);
    expect(skills).toEqual([
      ['mcp-pruner', 0.667],
      ['random', 0],
      ['oracle', 1],
    ]);
  });
});
