import { describe, expect, it } from 'vitest';
import { planPrune } from '../../../src/engine/plan.ts';
import type { Hints } from '../../../src/engine/types.ts';
import { chatBody, oneResult } from '../../helpers/chat.ts';
import { openRewriter } from '../../helpers/rewriter.ts';

const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
const WORDS = 'alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar'.split(' ');
const word = (i: number): string => WORDS[i % WORDS.length] ?? '';
const FAILED = 17;

/** Objects that differ in values alone, one of them in its state. */
const objects = (count: number): object[] =>
  Array.from({ length: count }, (_, i) => ({
    id: i,
    name: `${word(i)}-${word(i * 7)}`,
    status: i === FAILED ? 'failed' : 'active',
    created_at: `2026-01-1${i % 10}T10:${10 + (i % 50)}:00Z`,
    owner: { login: word(i * 3), url: `https://api.example.com/users/${word(i * 3)}` },
  }));
const inLines = (list: readonly object[]): string => list.map((one) => JSON.stringify(one)).join(',\n');

const spellings: readonly (readonly [name: string, text: string])[] = [
  ['several lines for each', JSON.stringify(objects(40), null, 2)],
  ['one line for each, in brackets', `[\n${inLines(objects(60))}\n]`],
  ['one line for each', inLines(objects(60)).replaceAll(',\n', '\n')],
];

describe('an array of 8,000 characters with similar objects', () => {
  describe.each(spellings)('in %s', (_, text) => {
    const callers: readonly Hints[] = [{ origin: 'unknown' }, { origin: 'command', command: 'gh api repos' }];

    it.each(callers)('is cut by whole objects, and keeps the object in a different state: %j', (hints) => {
      expect(text.length).toBeGreaterThan(8_000);
      expect(text.length).toBeLessThan(10_000);
      const lines = text.split('\n');
      const { cuts } = planPrune({ text, goal: '', hints, limits });
      const gone = cuts.flatMap(({ startLine, endLine }) => lines.slice(startLine - 1, endLine));
      expect(gone.length).toBeGreaterThan(lines.length / 3);
      expect(gone.join('\n')).not.toContain('"failed"');
      const left = lines.filter((__, i) => !cuts.some((cut) => cut.startLine <= i + 1 && i < cut.endLine));
      expect(left.filter((line) => /^\s*"id"/.test(line)).length).toBe(
        left.filter((line) => /^\s*"owner"/.test(line)).length,
      );
      expect([left.at(0), left.at(-1)]).toEqual([lines.at(0), lines.at(-1)]);
    });
  });

  it.each([60, 600])(
    'on a single line is forwarded unchanged, because a marker can only name lines: %i objects',
    async (count) => {
      const text = JSON.stringify(objects(count));
      expect(text.length).toBeGreaterThan(8_000);
      expect(planPrune({ text, goal: '', limits }).cuts).toEqual([]);
      const body = chatBody(oneResult(text));
      expect((await openRewriter().rewrite(body)).body.equals(body)).toBe(true);
    },
  );
});

describe('an element of JSON', () => {
  const tasks = (notes: number): string[] => {
    const all = Array.from({ length: 90 }, (_, i) => ({
      id: i,
      tags: Array.from({ length: 3 + (i % 3) }, (_tag, k) => word(i + k * 5)),
      notes: Array.from({ length: notes }, (_note, k) => `note ${word(i * 3 + k)} by ${word(k)}`),
      owner: { name: word(i), team: word(i * 3) },
    }));
    return JSON.stringify(all, null, 2).split('\n');
  };

  it.each([4, 22, 30, 60])('goes or stays as a whole, with its brackets, if records have %d notes', (notes) => {
    const lines = tasks(notes);
    for (const goal of ['Which tags has task 79?', 'why is it slow?', '']) {
      const hints = { origin: 'command', command: 'curl tasks' } as const;
      const { cuts } = planPrune({ text: lines.join('\n'), goal, hints, limits });
      expect(cuts.length).toBeGreaterThan(0);
      const isCut = (i: number): boolean => cuts.some(({ startLine, endLine }) => i + 1 >= startLine && i < endLine);
      // an opening bracket that stays alone in front of a cut that ends at its closing one
      const empty = cuts.filter(({ startLine, endLine }) => {
        const [open = '', close = ''] = [lines[startLine - 2], lines[endLine]];
        return /[[{]$/.test(open) && /^\s*[\]}],?$/.test(close) && open.search(/\S/) === close.search(/\S/);
      });
      expect(empty).toEqual([]);
      expect(lines.filter((_, i) => !isCut(i)).length).toBeGreaterThanOrEqual(limits.minKeepLines);
    }
  });
});
