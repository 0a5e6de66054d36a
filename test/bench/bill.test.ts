import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editsIn } from '../../bench/bill/edits.ts';
import { literalsIn } from '../../bench/bill/literals.ts';
import { needsOf, Sent } from '../../bench/bill/needs.ts';
import { cutAtRandom } from '../../bench/bill/random.ts';
import { charsPerToken, compactions, LIMITS, realBillOf } from '../../bench/bill/real-bill.ts';
import { SentTexts } from '../../bench/bill/sent-texts.ts';
import { contentOf } from '../../bench/bill/shown.ts';
import { type Message, toolCall, type Usage } from '../../bench/recordings/conversation.ts';
import { sessionRecordings } from '../../bench/recordings/own.ts';
import { formatMarker } from '../../src/engine/text/marker.ts';

const asked: Message = { role: 'user', content: 'please mend the parser' };
const calls = (name: string, args: unknown): Message => ({
  role: 'assistant',
  content: '',
  tool_calls: [toolCall('c', name, args)],
});
const shows = (content: string): Message => ({ role: 'tool', tool_call_id: 'c', content });
/** Messages that every request sent as others. */
const sentAs = (messages: readonly Message[], others: readonly Message[]): SentTexts => {
  const texts = new SentTexts(messages);
  texts.note(0, others.map(contentOf));
  return texts;
};
const usageAt = (at: number, fresh: number, read: number): Usage => ({
  at,
  fresh,
  read,
  written: 0,
  written1h: 0,
  output: 0,
});

describe('the real bill', () => {
  const result = 'x'.repeat(4_000);
  const recording = {
    agent: 'a',
    name: 'n',
    messages: [
      asked,
      calls('Read', {}),
      shows(result),
      { role: 'assistant', content: '' },
      { role: 'assistant', content: '' },
    ],
    usage: [usageAt(1, 1_000, 0), usageAt(3, 1_000, 1_000), usageAt(4, 0, 2_000)],
    outputPrice: 5,
  };

  it('subtracts removed tokens at their price, first in full and then from the cache', () => {
    const sent = recording.messages.map((message) => (message.content === result ? shows('') : message));
    const bill = realBillOf(recording, sentAs(recording.messages, sent), 4);
    expect(bill.before).toBeCloseTo(1_000 + 1_000 + 100 + 200);
    expect(bill.after).toBeCloseTo(bill.before - 1_000 - 100);
    expect([bill.peakBefore, bill.peakAfter]).toEqual([2_000, 1_000]);
  });

  it('counts no saving for a result that the client has removed', () => {
    const sent = recording.messages.map((message) => (message.content === result ? shows('') : message));
    const usage = [...recording.usage.slice(0, 2), usageAt(5, 300, 0)];
    const messages = [...recording.messages, asked, { role: 'assistant', content: '' } as const];
    const before = [{ ...asked, content: 'y'.repeat(4_000) }];
    const compacted = { ...recording, messages: [...messages.slice(0, 4), ...before, ...messages.slice(5)], usage };
    const bill = realBillOf(
      compacted,
      sentAs(compacted.messages, [...sent.slice(0, 4), ...before, ...messages.slice(5)]),
      4,
    );
    expect(bill.before - bill.after).toBeCloseTo(1_000);
  });

  it('measures the characters per token from the new part of each request', () => {
    expect(charsPerToken(recording, 3)).toBeCloseTo(4, 0);
    expect(charsPerToken({ ...recording, usage: [] }, 3)).toBe(3);
  });

  it('restarts a context over the limit with only its system prompt and 8,000 tokens', () => {
    expect(compactions([10_000, 60_000, 110_000, 160_000], 100_000, 5_000)).toBe(1);
    expect(compactions([10_000, 60_000, 110_000, 210_000], 100_000, 5_000)).toBe(2);
    expect(compactions([10_000, 90_000, 20_000, 90_000], 100_000, 5_000)).toBe(0);
  });
});

describe('compactions of a session file', () => {
  it('are simulated at the lengths at which clients compact, before and after cuts', () => {
    expect(LIMITS).toEqual([160_000, 200_000, 245_000, 450_000, 967_000]);
    const result = 'x'.repeat(400_000); // 100,000 tokens, of which half are cut
    const history = Array.from({ length: 10 }, (_, i) => [
      {
        json: JSON.stringify({
          role: 'assistant',
          content: [{ type: 'tool_use', id: `t${i}`, name: 'Bash', input: {} }],
        }),
        made: true,
      },
      {
        json: JSON.stringify({
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: `t${i}`, content: result }],
        }),
        made: false,
      },
    ]).flat();
    const requests = Array.from({ length: 10 }, (_, i) => ({
      ...{
        key: `${i}`,
        thread: 't',
        atMs: i,
        wire: 'messages' as const,
        model: 'claude-opus-5',
        project: 'p',
        reasoning: null,
      },
      ...{ history, length: 2 * i, usage: { input: 100_000 * i, read: 0, written: 0, written1h: 0, output: 0 } },
    }));
    const [recording] = sessionRecordings({ requests, offered: new Set() } as never, 'Claude Code', 'file');
    if (recording === undefined) throw new Error('no recording');
    const sent = recording.messages.map((message) =>
      message.content === result ? { ...message, content: result.slice(0, result.length / 2) } : message,
    );
    const bill = realBillOf(recording, sentAs(recording.messages, sent), 4);
    expect([bill.peakBefore, bill.peakAfter]).toEqual([900_000, 450_000]);
    expect(bill.compactionsBefore).toEqual([4, 4, 3, 1, 0]);
    expect(bill.compactionsAfter).toEqual([2, 2, 1, 0, 0]);
  });
});

describe('the lines that a conversation needed later', () => {
  const file = [
    'import { a } from "a";',
    'export function parseTheThing(text) {',
    '  return text.trim().split(",");',
    '}',
  ];
  const edit = calls('Edit', { old_string: file.slice(1, 3).join('\n'), new_string: 'z' });
  const messages = [asked, calls('Read', {}), shows(file.map((line, i) => `${i + 1}\t${line}`).join('\n')), edit];

  it('include lines that a later call repeats, and texts that an edit replaces', () => {
    const needs = needsOf(messages);
    expect(needs.lines.map(({ text }) => text)).toEqual([
      'export function parseTheThing(text) {',
      'return text.trim().split(",");',
    ]);
    expect(needs.edits).toHaveLength(1);
    expect(needs.edits.every((blocks) => new Sent(new SentTexts(messages)).hasEdit(blocks))).toBe(true);
  });

  it('do not include an edit if one of its lines was cut', () => {
    const cut = messages.with(2, shows(file.toSpliced(2, 1, '⟦…⟧').join('\n')));
    const needs = needsOf(messages);
    expect(needs.edits.some((blocks) => new Sent(sentAs(messages, cut)).hasEdit(blocks))).toBe(false);
    expect(needs.lines.map((line) => new Sent(sentAs(messages, cut)).hasLine(line))).toEqual([true, false]);
  });

  it('exclude lines that the user or the model wrote', () => {
    const said = [{ role: 'user', content: file.join('\n') }, ...messages];
    expect(needsOf(said)).toMatchObject({ lines: [], edits: [] });
  });

  it('include file positions, hashes, ids, versions and exit codes that the next call contains', () => {
    expect([...literalsIn('see src/a.ts:12, 3f2a9bc, run 123456, v1.2.3, exit code 2, word deadbeef')]).toEqual([
      'src/a.ts:12',
      '3f2a9bc',
      '123456',
      'v1.2.3',
      'exit code 2',
    ]);
    const looked = [
      asked,
      calls('Bash', {}),
      shows('commit 3f2a9bc of main'),
      calls('Bash', { command: 'git show 3f2a9bc' }),
    ];
    expect(needsOf(looked).literals.map(({ text }) => text)).toEqual(['3f2a9bc']);
  });

  it('include the context and the removed lines of each hunk of a patch', () => {
    const patch =
      '*** Begin Patch\n*** Update File: a.ts\n@@\n const one = 1;\n-const two = 2;\n+const two = 3;\n@@\n-const five = 5;\n*** End Patch';
    expect(editsIn(patch)).toEqual([['const one = 1;\nconst two = 2;', 'const five = 5;']]);
    expect(editsIn(JSON.stringify({ edits: [{ oldText: 'first text' }, { oldText: 'second text' }] }))).toEqual([
      ['first text'],
      ['second text'],
    ]);
  });
});

describe('the random control', () => {
  it('removes as many lines as the pruner, and keeps the others in order', () => {
    const runs = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(runs, fc.integer({ min: 5, max: 80 }), fc.string(), (lengths, rest, name) => {
        const total = lengths.reduce((a, b) => a + b, 0);
        const lines = Array.from({ length: total + rest }, (_, i) => `line ${i}`);
        const markers = lengths.map((length) =>
          formatMarker({ pruneId: 'prn_0', startLine: 1, endLine: length, reason: 'r' }),
        );
        const sent = sentAs([shows(lines.join('\n'))], [shows(markers.join('\n'))]);
        const kept = cutAtRandom(name, sent).textAt(0, 1).split('\n');
        expect(kept).toHaveLength(rest);
        expect(lines.filter((line) => kept.includes(line))).toEqual(kept);
      }),
    );
  });
});
