import { describe, expect, it } from 'vitest';
import { planPrune } from '../../src/engine/plan.ts';
import type { Hints } from '../../src/engine/types.ts';

const LIMITS = { maxPruneRatio: 0.9, minKeepLines: 20 };

function keptOf(lines: readonly string[], hints: Hints): string[] {
  const { cuts } = planPrune({ text: lines.join('\n'), goal: 'why does the upload fail?', limits: LIMITS, hints });
  expect(cuts.length).toBeGreaterThan(0);
  return lines.filter((_, i) => !cuts.some(({ startLine, endLine }) => i + 1 >= startLine && i < endLine));
}

const words = ['the review says that', 'another remark is about', 'someone asks again for', 'a short note on'];
/** Remarks of a review: prose of which none is like another. */
const remarks = Array.from(
  { length: 300 },
  (_, i) =>
    `${words[i % 4]} ${['naming', 'tests', 'comments', 'style', 'layout'][i % 5]} in part ${'abcdefghij'[i % 10]} of it, ${i}.`,
);

describe('an id that a later call may need', () => {
  it.each([
    ['a number', 'ID: 2836390288'],
    ['a hash', 'see commit f656fd4 for it'],
    ['an id behind a word', 'session ses_32a7c692bffe'],
    ['a UUID', 'run 3e110024-118b-478e-9c21-6b0c1dc2c45a'],
  ])('stays in the output of a command: %s', (_, line) => {
    const lines = [...remarks.slice(0, 220), line, ...remarks.slice(220)];
    expect(keptOf(lines, { origin: 'command', command: 'gh api reviews' })).toContain(line);
  });

  it.each([
    ['in an address', 'see https://github.com/acme/shop/actions/runs/30442391378/job/9'],
    ['at the end of a range', '   4cd33ef5..e217f076afef  main -> main'],
    ['at the end of a sentence', 'It was reverted in f656fd4d.'],
  ])('stays %s', (_, line) => {
    const lines = [...remarks.slice(0, 220), line, ...remarks.slice(220)];
    expect(keptOf(lines, { origin: 'command', command: 'gh api reviews' })).toContain(line);
  });

  it.each([
    ['a path', 'copied to /tmp/d329ee26-40ae-457a-b55c-7dbe7a3d8843/.gitconfig'],
    ['the beginning of a path', 'copied to d329ee26ff/settings'],
    ['a file name', 'wrote report-b340af2c2c68b544.xml'],
    ['a host', 'image 308535385114.dkr.ecr.eu-west-1.amazonaws.com'],
    ['a pinned action', 'uses actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683'],
    ['a fraction', 'someone asks again for style in part c of it, 35.127931623'],
  ])('is none within %s', (_, line) => {
    const lines = [...remarks.slice(0, 220), line, ...remarks.slice(220)];
    expect(keptOf(lines, { origin: 'command', command: 'gh api reviews' })).not.toContain(line);
  });

  it('stays at its first occurrence only', () => {
    const again = 'as said, 2836390288 is done';
    const lines = [
      ...remarks.slice(0, 100),
      'ID: 2836390288',
      ...remarks.slice(100, 250),
      again,
      ...remarks.slice(250),
    ];
    const kept = keptOf(lines, { origin: 'command', command: 'gh api reviews' });
    expect(kept).toContain('ID: 2836390288');
    expect(kept).not.toContain(again);
  });

  it('is cut as ordinary data if every line has a different id', () => {
    const lines = Array.from({ length: 600 }, (_, i) => `2026-05-01 INFO request req_${1_000_000 + i}a served`);
    expect(keptOf(lines, { origin: 'command', command: 'node server.js' }).length).toBeLessThan(100);
  });

  it('stays in the first 40 commits of a list, with or without a graph', () => {
    const commits = Array.from(
      { length: 400 },
      (_, i) => `${i % 3 === 0 ? '* ' : '| * '}${(0xabc0000 + i * 7919).toString(16)} ${words[i % 4]} step ${i}`,
    );
    const kept = keptOf(commits, { origin: 'command', command: 'git log --oneline --graph' });
    expect(kept.slice(0, 40)).toEqual(commits.slice(0, 40));
  });

  it('stays on each line of a short list of records', () => {
    const records = Array.from(
      { length: 45 },
      (_, i) =>
        `{"created_at":"2026-06-05","id":${14_095_635_106 + i * 331},"state":"${words[i % 4]}","log":"run ${i}"}`,
    );
    const lines = [...remarks.slice(0, 44), ...records];
    const { cuts } = planPrune({
      text: lines.join('\n'),
      goal: 'why does the upload fail?',
      limits: LIMITS,
      hints: { origin: 'command', command: 'gh api deployments' },
    });
    const cut = (line: number): boolean => cuts.some(({ startLine, endLine }) => line >= startLine && line <= endLine);
    expect(records.filter((_, i) => cut(45 + i))).toEqual([]);
  });

  it('stays once per block of a log, not on each line with a counter', () => {
    const line = (i: number): string =>
      `2026-02-11 10:${String(10 + Math.floor(i / 60))}:${String(i % 60).padStart(2, '0')} INFO ${words[i % 4]} ${['naming', 'tests', 'style'][i % 3]}`;
    const withId = (i: number): boolean => i >= 120 && i < 144;
    const log = Array.from(
      { length: 400 },
      (_, i) => `${line(i)}${withId(i) ? ` job=${14_095_635_106 + i * 331}` : ''}`,
    );
    const kept = keptOf(log, { origin: 'command', command: 'cat app.log' }).filter((one) => one.includes(' job='));
    expect(kept).toContain(log[120]);
    expect(kept).toContain(log[132]);
    expect(kept.length).toBeLessThan(12);
  });
});
