import { describe, expect, it } from 'vitest';
import { planPrune } from '../../../src/engine/plan.ts';

const LIMITS = { maxPruneRatio: 0.7, minKeepLines: 20 };
const hit = (i: number): string =>
  `the ${['session', 'policy', 'branch', 'claim'][i % 4]} of part ${i} is kept for ${'abcdefghij'[i % 10]}: see note ${i * 7}`;

function linesCut(lines: readonly string[], command: string): number {
  const hints = { origin: 'search', command } as const;
  const { cuts } = planPrune({ text: lines.join('\n'), goal: 'why is the token refused?', limits: LIMITS, hints });
  return cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
}

describe('a search of one file', () => {
  it.each([
    ['rg -n "session|policy" NOTES.md', (i: number) => `${i * 3 + 1}:${hit(i)}`],
    ['rg -n -C 1 "session|policy" NOTES.md', (i: number) => `${i + 1}${i % 3 === 1 ? ':' : '-'}${hit(i)}`],
    ['cat NOTES.md | grep -n "session"', (i: number) => `${i * 3 + 1}:\t${hit(i)}`],
  ])('is cut like any other, although its hits have no file name: %s', (command, line) => {
    expect(
      linesCut(
        Array.from({ length: 300 }, (_, i) => line(i)),
        command,
      ),
    ).toBeGreaterThan(100);
  });
});

it.each([
  ['behind its path', (i: number) => [`docs/2026-05-${10 + Math.floor(i / 20)}.md:${i + 1}:${hit(i)}`]],
  [
    'under a heading, as opencode prints them',
    (i: number) => [
      ...(i % 20 === 0 ? [`/work/docs/2026-05-${10 + Math.floor(i / 20)}.md:`] : []),
      `  Line ${i + 1}: ${hit(i)}`,
    ],
  ],
])('a search of many files loses hits, and keeps the name of each file: %s', (_, lines) => {
  const text = Array.from({ length: 300 }, (_, i) => lines(i)).flat();
  const hints = { origin: 'search', command: 'rg -n session docs' } as const;
  const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
  const { cuts } = planPrune({ text: text.join('\n'), goal: 'why is the token refused?', limits, hints });
  const kept = text.filter((_, i) => !cuts.some(({ startLine, endLine }) => i + 1 >= startLine && i < endLine));
  const files = kept.flatMap((line) => /docs\/([^:]+):/.exec(line)?.[1] ?? []);
  expect(new Set(files).size).toBe(15);
  expect(kept.length).toBeLessThan(200);
});
