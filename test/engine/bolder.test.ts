import { describe, expect, it } from 'vitest';
import { planPrune } from '../../src/engine/plan.ts';
import type { Hints } from '../../src/engine/types.ts';
import { chatBody, contentAt, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { markersIn } from '../helpers/markers.ts';
import { startProxy } from '../helpers/proxy.ts';
import { sourceFile } from '../helpers/texts.ts';

const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
const WORDS = 'alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar'.split(' ');
const word = (i: number): string => WORDS[i % WORDS.length] ?? '';

/** Sentences that a program prints, none of which serves the goal more than another. */
const printed = (lines: number): string => manual(lines).replaceAll('## ', '');

/** A manual: sections of sentences. */
function manual(lines: number): string {
  const line = (i: number): string =>
    i % 6 === 0
      ? `## ${word(i)} ${word(i * 3)} ${i}`
      : `The ${word(i * 7)} of the ${word(i * 3 + 1)} is ${word(i * 5 + 2)} when the total is wrong for ${word(i * 2)} number ${i}.`;
  return Array.from({ length: lines }, (_, i) => line(i)).join('\n');
}

/** Hits of a search in five files. */
function hits(count: number): string {
  const hit = (i: number): string =>
    `src/${word(Math.floor((i * 5) / count))}.rs:${i * 3}:pub fn ${word(i)}_${word(i * 7 + 2)}(${word(i * 3)}: &str) {`;
  return Array.from({ length: count }, (_, i) => hit(i)).join('\n');
}

function cutLines(text: string, hints: Hints, goal = ''): number {
  const { cuts } = planPrune({ text, goal, hints, limits });
  return cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
}

describe('an output that nothing in it makes worth keeping', () => {
  const help = { origin: 'command', command: 'tool --help' } as const;

  it('is cut from 4,000 characters on', () => {
    expect(cutLines(printed(90), help)).toBeGreaterThan(10);
    expect(cutLines(printed(50), help)).toBe(0);
  });

  it('stays whole if it is a manual or a file, unless the call contains a question', () => {
    expect(cutLines(manual(90), help)).toBe(0);
    expect(cutLines(manual(90), { ...help, question: true })).toBeGreaterThan(10);
    const hints = { origin: 'read', path: 'src/orders.ts' } as const;
    expect(cutLines(sourceFile(60), hints, 'fix loadOrder3')).toBe(0);
  });

  it('is asked boldly only about 8,000 characters of matching hits and more', () => {
    const line = (text: string, i: number): string => `src/${word(Math.floor(i / 6))}.ts:${i * 3}:${text}`;
    const hitsOf = (count: number): string =>
      manual(count).replaceAll('## ', 'total ').split('\n').map(line).join('\n');
    const grep = { origin: 'command', command: 'grep -rn total' } as const;
    const cut = (count: number): number => cutLines(hitsOf(count), { ...grep, question: true }, 'total is wrong');
    expect([cut(56), cut(100) > 50]).toEqual([0, true]);
  });
});

describe('a search with thousands of similar hits in few files', () => {
  it.each(['', 'fn', 'list all functions', 'find fn alpha_charlie'])('is cut for any goal: %j', (goal) => {
    const text = hits(1_900);
    expect(text.length).toBeGreaterThan(95_000);
    expect(cutLines(text, { origin: 'command', command: "rg 'fn '" }, goal)).toBeGreaterThan(1_500);
  });

  it('is cut on its way to the provider', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const text = hits(1_900);
    const [system, , ...call] = oneResult(text, { args: { command: "rg 'fn '" } });
    for (const question of ['Which fn reads alpha_charlie?', 'List every fn of the project, please.']) {
      await (
        await proxy.chat(chatBody([system, { role: 'user', content: question }, ...call].flatMap((one) => one ?? [])))
      ).text();
      const sent = contentAt(upstream.last.body, -1);
      expect(sent.length).toBeLessThan(text.length / 4);
      expect(markersIn(sent).length).toBeGreaterThan(0);
    }
  });
});
