import { explainPlan } from '@mcp-pruner/why/explain.ts';
import { describe, expect, it } from 'vitest';
import { planPrune } from '../../../src/engine/plan.ts';
import { lineAt, splitLines } from '../../../src/engine/text/lines.ts';
import type { Hints } from '../../../src/engine/types.ts';
import { listings } from './listings/listings.ts';

const LIMITS = { maxPruneRatio: 0.9, minKeepLines: 20 };
const OUTPUT: Hints = { origin: 'command', command: 'opsctl list' };

function keptOf(text: string, goal = 'what is the state?', hints = OUTPUT): string[] {
  const { cuts } = planPrune({ text, goal, hints, limits: LIMITS });
  const lines = splitLines(text);
  return Array.from({ length: lines.count }, (_, i) => i + 1)
    .filter((line) => !cuts.some(({ startLine, endLine }) => startLine <= line && line <= endLine))
    .map((line) => lineAt(lines, line));
}

/** Rows of three columns, with other rows at some places. */
function rows(count: number, odd: Readonly<Record<number, readonly string[]>>, state = (_: number) => 'ready'): string {
  const all = Array.from({ length: count }, (_, i) => [
    `${`worker-${i * 7919}`.padEnd(16)}  ${state(i).padEnd(12)}  zone-${i % 7}`,
    ...(odd[i] ?? []),
  ]);
  return `${['NAME              STATE         ZONE', ...all.flat()].join('\n')}\n`;
}

describe('lists of states', () => {
  it.each(listings.map((listing) => [listing.name, listing] as const))(
    'keep the rows of %s that an operator needs',
    (_, { text, goal, command, needed }) => {
      const kept = new Set(keptOf(text, goal, { origin: 'command', command }));
      expect(needed.filter((row) => !kept.has(row))).toEqual([]);
    },
  );

  it('keep a row with a value that is rare in a column of few values, whatever the value is', () => {
    const odd = `${'worker-77'.padEnd(16)}  ${'lavender'.padEnd(12)}  zone-3`;
    expect(keptOf(rows(300, { 150: [odd] }))).toContain(odd);
  });

  it('keep no rows for a column if all its values are rare, or more than a fifth of the rows differ', () => {
    const tokens = (text: string): number => keptOf(text).length;
    const alike = tokens(rows(300, {}));
    expect(tokens(rows(300, {}, (i) => `s${(i * 7919) % 1013}`))).toBeLessThan(alike + 30);
    expect(tokens(rows(300, {}, (i) => (i % 3 === 0 ? 'failed' : 'ready')))).toBeLessThan(150);
  });

  it('keep the continuation lines of a row with a rare value', () => {
    const odd = [
      `${'worker-77'.padEnd(16)}  ${'failed'.padEnd(12)}  zone-3`,
      '    last error at 10:41',
      '    exit status 7 of the entry point',
    ];
    expect(keptOf(rows(300, { 150: odd }))).toEqual(expect.arrayContaining(odd));
  });

  it('keep no row merely because a name in it contains a failure word', () => {
    const names = Array.from({ length: 300 }, (_, i) => `src/pages/failed-${i * 7919}/error-page.ts`);
    expect(keptOf(`${names.join('\n')}\n`, 'list all', { origin: 'listing', command: 'find src' }).length).toBeLessThan(
      150,
    );
  });

  it.each(['échec', 'fehlgeschlagen', 'fallito', 'rechazado', 'falhou', 'ошибка', '失败', 'エラー', 'FAILED'])(
    'keep all nine rows that report %s',
    (word) => {
      const failed = Array.from({ length: 9 }, (_, k) => `${`worker-${k}`.padEnd(16)}  ${word.padEnd(12)}  zone-1`);
      const kept = keptOf(rows(200, Object.fromEntries(failed.map((row, k) => [20 * k + 9, [row]]))));
      expect(kept).toEqual(expect.arrayContaining(failed));
    },
  );

  it('report the rule by which a row with a rare value stays', () => {
    const odd = `${'worker-77'.padEnd(16)}  ${'lavender'.padEnd(12)}  zone-3`;
    const text = rows(300, { 150: [odd] });
    const { regions } = explainPlan({ text, goal: 'state', hints: OUTPUT, limits: LIMITS });
    const line = text.split('\n').indexOf(odd) + 1;
    expect(regions.find(({ startLine, endLine }) => startLine <= line && line <= endLine)?.rule).toBe('state');
  });
});

describe('git status output', () => {
  const files = Array.from({ length: 250 }, (_, i) => `\tmodified:   src/part-${i * 7919}/file.ts`);
  const status = [
    'On branch main',
    'Your branch and origin/main have diverged,',
    'and have 3 and 1 different commits each, respectively.',
    '  (use "git pull" if you want to integrate the remote branch with yours)',
    '',
    'Changes not staged for commit:',
    '  (use "git add/rm <file>..." to update what will be committed)',
    ...files.slice(0, 120),
    '\tdeleted:    src/ledger/totals.ts',
    ...files.slice(120),
    '',
    'no changes added to commit (use "git add" and/or "git commit -a")',
  ];

  it.each([
    ['its command', { origin: 'command', command: 'cd shop && git status' } as const],
    ['its lines', { origin: 'unknown' } as const],
  ])('is recognised by %s, and keeps its headings, hints and rare entries', (_, hints) => {
    const text = `${status.join('\n')}\n`;
    expect(planPrune({ text, goal: 'commit', hints, limits: LIMITS }).kind).toBe('git');
    const kept = keptOf(text, 'commit', hints);
    expect(kept).toEqual(expect.arrayContaining(status.filter((line) => line !== '' && !line.startsWith('\tmod'))));
    expect(kept.length).toBeLessThan(100);
  });

  it('is not confused with a diff or a commit log', () => {
    const diff = `diff --git a/a.ts b/a.ts\n--- a/a.ts\n+++ b/a.ts\n@@ -1,3 +1,3 @@\n${' context\n'.repeat(200)}`;
    const kindOf = (text: string, command: string) =>
      planPrune({ text, goal: '', hints: { origin: 'command', command }, limits: LIMITS }).kind;
    expect(kindOf(diff, 'git status && git diff')).toBe('diff');
    expect(kindOf('abc1234 Add a page\n'.repeat(200), 'git log --oneline')).not.toBe('git');
  });
});
