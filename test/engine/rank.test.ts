import { describe, expect, it } from 'vitest';
import { valueAt } from '../../src/engine/rank/measures.ts';
import { analyse } from '../../src/engine/reading.ts';
import type { Hints } from '../../src/engine/types.ts';
import { goldenTexts } from '../golden/texts.ts';

/** The worth of lines in units of the average. */
function worthOf(lines: readonly string[], goal: string, hints: Hints): Float64Array {
  const value = analyse({ text: lines.join('\n'), goal, hints })?.value ?? new Float64Array();
  return value.map((share) => share * value.length);
}

const many = (count: number, line: (k: number) => string): string[] => Array.from({ length: count }, (_, k) => line(k));

describe('a line is worth more than the average', () => {
  it.each<[string, Hints, (k: number) => string, string]>([
    ['in code', { origin: 'read', path: 'a.js' }, (k) => `  const part${k} = step(${k});`, '  const retryLimit = 5;'],
    [
      'in a document',
      { origin: 'read', path: 'a.md' },
      (k) => `The part ${k} starts when it is told to.`,
      'The retryLimit is five.',
    ],
    [
      'in a log',
      { origin: 'read', path: 'a.log' },
      (k) => `2026-01-02T03:04:05 INFO part ${k}`,
      '2026-01-02T03:04:05 INFO retryLimit reached',
    ],
    ['in a search', { origin: 'search' }, (k) => `a${k}.js:1: part`, 'b.js:4: retryLimit'],
    [
      'in a diff',
      { origin: 'read', path: 'a.diff' },
      (k) => `@@ -${k} +${k} @@\n-old ${k}\n+new ${k}`,
      '+const retryLimit = 5',
    ],
    ['in a listing', { origin: 'listing' }, (k) => `src/part-${k}.js`, 'src/retryLimit.js'],
    ['in JSON', { origin: 'read', path: 'a.json' }, (k) => `  "part${k}": ${k},`, '  "retryLimit": 5,'],
    ['in a table', { origin: 'read', path: 'a.csv' }, (k) => `part${k},${k},a`, 'retryLimit,5,b'],
  ])('%s if it contains what the goal asks for', (_where, hints, other, wanted) => {
    const lines = many(60, other).flatMap((line) => line.split('\n'));
    lines.splice(31, 0, wanted);
    const worth = worthOf(lines, 'where is `retryLimit` set', hints);
    expect(worth[31]).toBeGreaterThan(2);
    expect(worth[31]).toBeGreaterThan((worth[10] ?? 0) * 1.5);
  });

  it('in a log if it reports a failure, whatever the goal', () => {
    const lines = many(80, (k) => `2026-01-02T03:04:05 INFO part ${k} done`).with(
      40,
      '2026-01-02T03:04:05 ERROR part 40 refused',
    );
    expect(worthOf(lines, '', { origin: 'read', path: 'a.log' })[40]).toBeGreaterThan(3);
  });
});

it('every weight is used: no measure is 0 for all lines of all texts', () => {
  const idle = new Map<string, boolean>();
  for (const { text, goal, hints } of goldenTexts()) {
    const analysis = analyse({ text: text.slice(0, 20_000), goal, hints });
    if (analysis === null) continue;
    for (const { measures, weights } of analysis.kind.measure?.(analysis) ?? []) {
      for (const name of Object.keys(weights)) {
        const key = `${analysis.kind.family} ${name}`;
        if (idle.get(key) === false) continue;
        const measure = measures.find((one) => one.name === name);
        const works =
          measure !== undefined &&
          Array.from({ length: analysis.view.n }, (_, i) => valueAt(measure, i)).some((x) => x !== 0);
        idle.set(key, !works);
      }
    }
  }
  expect(idle.size).toBeGreaterThan(70);
  expect([...idle].filter(([, isIdle]) => isIdle)).toEqual([]);
});
