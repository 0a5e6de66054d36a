import { describe, expect, it } from 'vitest';
import { RULES } from '../../src/engine/kinds/kind.ts';
import { analyse } from '../../src/engine/reading.ts';
import type { Hints, SourceType } from '../../src/engine/types.ts';

/** The rule by which each line must stay, `''` for none. */
function rulesOf(lines: readonly string[], hints: Hints, sourceType?: SourceType): string[] {
  const analysis = analyse({ text: lines.join('\n'), goal: '', hints, ...(sourceType && { sourceType }) });
  return Array.from(analysis?.keep ?? [], (rule) => RULES[rule] ?? '?');
}

const read = (path: string): Hints => ({ origin: 'read', path });
const ran = (command: string): Hints => ({ origin: 'command', command });

describe('the protected lines', () => {
  it('of code: header, imports to their end, declarations with their decorators', () => {
    const lines = [
      '# orders',
      'from decimal import (',
      '  Decimal,',
      ')',
      'x = 1',
      '@cached',
      'def total(order):',
      '  y = 2',
    ];
    expect(rulesOf(lines, read('a.py'))).toEqual([
      'header',
      'import',
      'import',
      'import',
      '',
      'declaration',
      'declaration',
      '',
    ]);
  });

  it('of a document: headings of both forms, nothing in fences, the first line', () => {
    const lines = ['intro', '', '# Head', 'words', '```', '# no heading', '```', 'Under', '=====', 'more'];
    expect(rulesOf(lines, read('a.rst'))).toEqual(['edge', '', 'heading', '', '', '', '', 'heading', 'heading', '']);
  });

  it('of a log: failures, traces, summaries, both ends', () => {
    const lines = [
      'start',
      'step one',
      'an Error: x',
      '    at f (a.js:1)',
      'step two',
      'Tests: 3 failed',
      'step three',
      'the end',
    ];
    expect(rulesOf(lines, ran('npm start'), 'logs')).toEqual([
      'edge',
      '',
      'failure',
      'trace',
      '',
      'failure',
      '',
      'edge',
    ]);
    expect(rulesOf(['a', 'Tests: 3 passed', 'b', 'c'], ran('x'), 'logs')).toEqual(['edge', 'summary', '', 'edge']);
  });

  it('of a log declared as a document: the protected lines of a log, and headings', () => {
    const lines = [
      '2026-01-02T03:04:05 a',
      '2026-01-02T03:04:06 error',
      '# b',
      '2026-01-02T03:04:07 c',
      '2026-01-02T03:04:08 d',
    ];
    expect(rulesOf(lines, { ...read('a.log') }, 'docs')).toEqual(['edge', 'failure', 'heading', '', 'edge']);
  });

  it('of a search: one hit of every file', () => {
    const lines = ['a.ts:1:x', 'a.ts:2:y', 'b.ts:1:z', 'b.ts:9:z'];
    expect(rulesOf(lines, { origin: 'search' })).toEqual(['file-spread', '', 'file-spread', '']);
  });

  it('of a diff: the headers of files and hunks', () => {
    const lines = ['diff --git a/x b/x', '--- a/x', '+++ b/x', '@@ -1 +1 @@', '-old', '+new', ' same'];
    expect(rulesOf(lines, ran('git diff'))).toEqual([...Array(4).fill('diff-header'), '', '', '']);
  });

  it('of a listing: failures that are not names, the total below a tree, both ends', () => {
    const lines = ['./src:', 'error.ts', 'find: ERROR: cannot read ./b', '', '2 directories, 1 file', 'd'];
    expect(rulesOf(lines, { origin: 'listing' })).toEqual(['edge', '', 'failure', '', 'structure', 'edge']);
  });

  it('of JSON: the brackets around the elements', () => {
    const items = Array.from({ length: 30 }, (_, k) => `  ${k}${k < 29 ? ',' : ''}`);
    const rules = rulesOf(['[', ...items, ']'], read('a.json'));
    expect([rules[0], rules[5], rules.at(-1)]).toEqual(['structure', '', 'structure']);
  });

  it('of a table: the header with its separator line, and the last row', () => {
    const rows = Array.from({ length: 6 }, (_, k) => `| ${k} | b | c |`);
    expect(rulesOf(['| a | b | c |', '|---|---|---|', ...rows], read('a.csv'))).toEqual([
      'structure',
      'structure',
      '',
      '',
      '',
      '',
      '',
      'edge',
    ]);
  });

  it("of any kind: lines between directives, a client’s frame, a tool's lines around numbered ones", () => {
    const fenced = ['x = 1', '⟦NO_PRUNE_BEGIN⟧', 'y = 2', '⟦NO_PRUNE_END⟧', 'z = 3'];
    expect(rulesOf(fenced, read('a.toml'))).toEqual(['header', 'no-prune', 'no-prune', 'no-prune', '']);
    expect(rulesOf(['a', 'b', 'c', 'd'], { origin: 'listing', frameHead: 1, frameTail: 2 })).toEqual([
      'frame',
      'edge',
      'frame',
      'frame',
    ]);
    const numbered = ['[File: a.toml]', ...Array.from({ length: 9 }, (_, k) => `${k + 1}: k${k} = 1`), '(more below)'];
    const rules = rulesOf(numbered, { origin: 'unknown' });
    expect([rules[0], rules.at(-1)]).toEqual(['frame', 'frame']);
  });
});
