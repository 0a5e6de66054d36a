import { describe, expect, it } from 'vitest';
import { findSettingsOf } from '../../src/app/pipeline.ts';
import { decisionKey, type Job } from '../../src/core/decide/decision.ts';
import { whyWhole } from '../../src/core/request/why-whole.ts';
import { planPrune } from '../../src/engine/plan.ts';
import type { Dial, Hints, Origin } from '../../src/engine/types.ts';
import { Conversation } from '../../src/wires/goal/conversation.ts';
import { chatBody, contentAt, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { markersIn } from '../helpers/markers.ts';
import { settingsOf, startProxy } from '../helpers/proxy.ts';
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

function cutLines(text: string, dial: Dial | undefined, hints: Hints, goal = ''): number {
  const { cuts } = planPrune({ text, goal, hints, limits, ...(dial && { dial }) });
  return cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
}

describe('the dial', () => {
  const help = { origin: 'command', command: 'tool --help' } as const;

  it('beyond careful, cuts an output that otherwise passes whole', () => {
    expect(cutLines(printed(90), undefined, help)).toBe(0);
    for (const dial of ['balanced', 'bold'] as const) expect(cutLines(printed(90), dial, help)).toBeGreaterThan(10);
  });

  it('leaves outputs of fewer than 4,000 characters whole, and cuts others as careful does', () => {
    expect(cutLines(manual(50), 'bold', help)).toBe(0);
    const rg = { origin: 'command', command: "rg 'fn '" } as const;
    expect(cutLines(hits(130), 'bold', rg)).toBe(cutLines(hits(130), undefined, rg));
  });

  it('at bold, cuts a file from 1,500 saved tokens on, but not at balanced', () => {
    const hints = { origin: 'read', path: 'src/orders.ts' } as const;
    const cut = (dial?: Dial): number => cutLines(sourceFile(60), dial, hints, 'fix loadOrder3');
    expect([cut(), cut('balanced')]).toEqual([0, 0]);
    expect(cut('bold')).toBeGreaterThan(50);
  });

  it('is bold for a question, whatever the setting', () => {
    expect(cutLines(manual(90), undefined, { ...help, question: true })).toBeGreaterThan(10);
  });

  it('does not make a question bold about fewer than 8,000 characters of matching hits', () => {
    const line = (text: string, i: number): string => `src/${word(Math.floor(i / 6))}.ts:${i * 3}:${text}`;
    const hitsOf = (count: number): string =>
      manual(count).replaceAll('## ', 'total ').split('\n').map(line).join('\n');
    const grep = { origin: 'command', command: 'grep -rn total' } as const;
    const cut = (count: number, dial: Dial | undefined, question: boolean): number =>
      cutLines(hitsOf(count), dial, { ...grep, question }, 'total is wrong');
    expect([cut(56, undefined, false), cut(56, undefined, true)]).toEqual([0, 0]);
    expect(cut(56, 'bold', false)).toBeGreaterThan(20);
    expect([cut(100, undefined, false) === 0, cut(100, undefined, true) > 50]).toEqual([true, true]);
  });

  it('is the starting point of learned steps', () => {
    const cut = (boldness: number): number =>
      planPrune({ text: printed(90), goal: '', hints: help, limits, dial: 'balanced', boldness }).cuts.length;
    expect([cut(-2) === 0, cut(0) > 0]).toEqual([true, true]);
  });

  it('is part of the key of a decision, except careful', () => {
    const base = { text: 'a', textHash: 'h', goal: '', limits, tool: 't', caller: 'proxy' } as const;
    const key = (dial?: Dial, origin: Origin = 'command'): string =>
      decisionKey({ ...base, hints: { origin }, ...(dial && { dial }) } satisfies Job);
    expect(new Set([key(), key('balanced'), key('bold')]).size).toBe(3);
    expect(decisionKey({ ...base, hints: { origin: 'command' }, dial: undefined })).toBe(key());
  });

  it('comes from MCP_PRUNER_BOLDNESS, and is absent for careful', () => {
    const dialOf = (env: Record<string, string>): Dial | undefined => findSettingsOf(settingsOf(env)).dial;
    expect([dialOf({}), dialOf({ MCP_PRUNER_BOLDNESS: 'careful' })]).toEqual([undefined, undefined]);
    expect([dialOf({ MCP_PRUNER_BOLDNESS: 'bold' }), dialOf({ MCP_PRUNER_BOLDNESS: 'balanced' })]).toEqual([
      'bold',
      'balanced',
    ]);
  });

  it('beyond careful, also judges short lists of hits', () => {
    const call = { name: 'Grep', args: '{"pattern":"total"}' };
    const shown = { call, files: [], isRepeated: false, text: hits(100), conversation: new Conversation() };
    expect([whyWhole(shown), whyWhole({ ...shown, dial: 'balanced' })]).toEqual(['short', '']);
  });
});

describe('a search with thousands of similar hits in few files', () => {
  it.each(['', 'fn', 'list all functions', 'find fn alpha_charlie'])('is cut for any goal: %j', (goal) => {
    const text = hits(1_900);
    expect(text.length).toBeGreaterThan(95_000);
    expect(cutLines(text, undefined, { origin: 'command', command: "rg 'fn '" }, goal)).toBeGreaterThan(1_500);
  });

  it.each(['careful', 'balanced', 'bold'])('is cut on its way to the provider: %s', async (boldness) => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_BOLDNESS: boldness } });
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
