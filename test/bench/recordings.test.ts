import { describe, expect, it } from 'vitest';
import { claudeCode } from '../../bench/recordings/claude-code.ts';
import { codex } from '../../bench/recordings/codex.ts';
import { type Form, type Recording, requestTimes } from '../../bench/recordings/conversation.ts';
import { copilot } from '../../bench/recordings/copilot.ts';
import { opencode } from '../../bench/recordings/opencode.ts';
import { pi } from '../../bench/recordings/pi.ts';

const lines = (entries: readonly unknown[]): string => entries.map((entry) => JSON.stringify(entry)).join('\n');

function rolesOf(form: Form, text: string): unknown[] {
  return form.read(text, 'full.jsonl')[0]?.messages.map(({ role }) => role) ?? [];
}

describe('the reader of Claude Code recordings', () => {
  const usage = { input_tokens: 3, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 };
  const said = (id: string, block: unknown, output: number): unknown => ({
    type: 'assistant',
    sessionId: 's',
    requestId: 'r',
    message: { id, content: [block], usage: { ...usage, output_tokens: output } },
  });
  const call = (id: string): unknown => ({ type: 'tool_use', id, name: 'Read', input: {} });
  const result = (id: string): unknown => ({
    type: 'user',
    message: { content: [{ type: 'tool_result', tool_use_id: id, content: 'text' }] },
  });
  const text = lines([
    { type: 'user', sessionId: 's', message: { content: 'do it' } },
    said('a', call('1'), 5),
    result('1'),
    said('a', call('2'), 9),
    result('2'),
    said('b', { type: 'text', text: 'next' }, 7),
    said('c', { type: 'text', text: 'done' }, 7),
  ]);

  it('merges the lines of one answer even if results are between them', () => {
    expect(rolesOf(claudeCode, text)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant', 'assistant']);
  });

  it('bills each answer once, by its last line', () => {
    const [recording] = claudeCode.read(text, '');
    expect(recording?.usage?.map(({ at, output }) => [at, output])).toEqual([
      [1, 9],
      [4, 7],
      [5, 7],
    ]);
    expect(recording?.usage?.[0]).toMatchObject({ fresh: 3, read: 100, written: 20 });
  });
});

describe('the reader of Codex recordings', () => {
  const item = (payload: unknown): unknown => ({ type: 'response_item', payload });
  const bill = (total: number): unknown => ({
    type: 'event_msg',
    payload: {
      type: 'token_count',
      info: {
        total_token_usage: { input_tokens: total },
        last_token_usage: { input_tokens: 100, cached_input_tokens: 60, output_tokens: 4 },
      },
    },
  });
  const answer = (text: string): unknown => item({ type: 'message', role: 'assistant', content: [{ text }] });
  const text = lines([
    { type: 'session_meta', payload: { id: 's' } },
    item({ type: 'message', role: 'user', content: [{ text: 'do it' }] }),
    answer('looking'),
    item({ type: 'function_call', name: 'exec_command', arguments: '{"cmd":"ls"}', call_id: 'c' }),
    item({ type: 'function_call_output', call_id: 'c', output: 'a.ts' }),
    bill(100),
    bill(100),
    answer('and'),
    bill(200),
    answer('done'),
    bill(300),
  ]);

  it('ends an answer with its bill, and counts a repeated bill once', () => {
    expect(rolesOf(codex, text)).toEqual(['user', 'assistant', 'tool', 'assistant', 'assistant']);
    expect(codex.read(text, '')[0]?.usage).toHaveLength(3);
    expect(codex.read(text, '')[0]?.usage?.[0]).toEqual({
      at: 1,
      fresh: 40,
      read: 60,
      written: 0,
      written1h: 0,
      output: 4,
    });
  });
});

describe('the reader of opencode recordings', () => {
  const step = (tool: string): unknown => ({
    info: { role: 'assistant', modelID: 'gpt-5' },
    parts: [
      { type: 'tool', tool, state: { input: { filePath: 'a.ts' }, output: `result of ${tool}` } },
      { type: 'step-finish', tokens: { input: 10, output: 2, cache: { read: 5, write: 1 } } },
    ],
  });
  const text = JSON.stringify({
    info: { id: 'ses_1' },
    messages: [
      { info: { role: 'user' }, parts: [{ type: 'text', text: 'do it' }] },
      step('read'),
      step('bash'),
      step('grep'),
    ],
  });

  it('assigns results to calls even if ids are redacted, and reads the output price of the model', () => {
    const [recording] = opencode.read(text, '');
    expect(recording?.messages.map(({ content }) => content)).toEqual([
      'do it',
      '',
      'result of read',
      '',
      'result of bash',
      '',
      'result of grep',
    ]);
    expect(recording?.usage?.[0]).toMatchObject({ fresh: 10, read: 5, written: 1, output: 2 });
    expect(recording?.outputPrice).toBe(8);
  });
});

describe('the reader of Copilot CLI recordings', () => {
  it('estimates input from the texts, and marks it as estimated', () => {
    const answer = {
      type: 'assistant.message',
      data: { model: 'claude-opus', content: 'x'.repeat(400), outputTokens: 9 },
    };
    const text = lines([
      { type: 'session.start', data: { sessionId: 's' } },
      { type: 'user.message', data: { content: 'do it' } },
      answer,
      answer,
      answer,
    ]);
    const [recording] = copilot.read(text, '');
    expect(recording?.estimated).toBe(true);
    expect(recording?.usage?.[1]?.read).toBe(recording?.usage?.[0]?.written);
    expect(recording?.usage?.[1]?.written).toBeGreaterThan(50);
  });
});

describe('recordings of pi', () => {
  it('include the bill of each answer, and exclude results without a call', () => {
    const usage = { input: 300, output: 60, cacheRead: 5_000, cacheWrite: 200 };
    const call = { type: 'toolCall', id: 'c', name: 'bash', arguments: { command: 'ls' } };
    const text = lines([
      { type: 'session', version: 3 },
      { type: 'message', message: { role: 'user', content: 'do it' } },
      { type: 'message', message: { role: 'assistant', model: 'gpt-6', content: [call], usage } },
      { type: 'message', message: { role: 'toolResult', toolCallId: 'c', content: [{ type: 'text', text: 'a.ts' }] } },
      { type: 'message', message: { role: 'toolResult', toolCallId: 'x', content: [{ type: 'text', text: 'lost' }] } },
      { type: 'message', message: { role: 'assistant', content: 'done', usage } },
    ]);
    const [recording] = pi.read(text, 'p.jsonl');
    expect(recording?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    const billed = { fresh: 300, read: 5_000, written: 200, written1h: 0, output: 60 };
    expect(recording).toMatchObject({ usage: [1, 3].map((at) => ({ at, ...billed })), outputPrice: 8 });
  });
});

describe('the times of recorded requests', () => {
  const MINUTE = 60_000;
  const START = Date.UTC(2026, 10, 20, 10);
  const timeAt = (minutes: number): string => new Date(START + minutes * MINUTE).toISOString();
  /** Minutes from the start at which each request arrived and was answered. */
  const minutesOf = (recording: Recording | undefined): number[][] =>
    requestTimes(recording ?? { messages: [] }).map(({ arrivedMs, answeredMs }) =>
      [arrivedMs, answeredMs].map((ms) => (ms - START) / MINUTE),
    );
  /** A call, its result two minutes later, an answer, and words after a pause of an hour with a last answer. */
  const EXPECTED = [
    [0, 1],
    [3, 4],
    [64, 65],
  ];

  it('of Claude Code run from the last message before an answer to its last line', () => {
    const entry = (minutes: number, of: object): object => ({ timestamp: timeAt(minutes), sessionId: 's', ...of });
    const said = (minutes: number, id: string, block: object): object =>
      entry(minutes, { type: 'assistant', requestId: id, message: { id, content: [block] } });
    const heard = (minutes: number, content: unknown): object => entry(minutes, { type: 'user', message: { content } });
    const text = lines([
      heard(0, 'do it'),
      said(0.5, 'a', { type: 'text', text: 'looking' }),
      said(1, 'a', { type: 'tool_use', id: '1', name: 'Bash', input: {} }),
      heard(3, [{ type: 'tool_result', tool_use_id: '1', content: 'a.ts' }]),
      said(4, 'b', { type: 'text', text: 'there' }),
      heard(64, 'and now?'),
      said(65, 'c', { type: 'text', text: 'done' }),
    ]);
    expect(minutesOf(claudeCode.read(text, '')[0])).toEqual(EXPECTED);
  });

  it('of Codex run to the last item of an answer', () => {
    const bill = (total: number): object => {
      const usage = { total_token_usage: { input_tokens: total }, last_token_usage: { input_tokens: total } };
      return { type: 'event_msg', timestamp: timeAt(99), payload: { type: 'token_count', info: usage } };
    };
    const item = (minutes: number, payload: object): object => ({
      ...{ type: 'response_item', timestamp: timeAt(minutes), payload },
    });
    const words = (minutes: number, role: string, text: string): object =>
      item(minutes, { type: 'message', role, content: [{ text }] });
    const text = lines([
      { type: 'session_meta', payload: { id: 's' } },
      { type: 'turn_context', payload: { model: 'gpt-6' } },
      words(0, 'user', 'do it'),
      words(0.5, 'assistant', 'looking'),
      item(1, { type: 'function_call', name: 'shell', arguments: '{}', call_id: 'c' }),
      bill(100),
      item(3, { type: 'function_call_output', call_id: 'c', output: 'a.ts' }),
      words(4, 'assistant', 'there'),
      bill(200),
      words(64, 'user', 'and now?'),
      words(65, 'assistant', 'done'),
      bill(300),
    ]);
    const [recording] = codex.read(text, '');
    expect(minutesOf(recording)).toEqual(EXPECTED);
    expect(recording?.usage?.map(({ model }) => model)).toEqual(['gpt-6', 'gpt-6', 'gpt-6']);
  });

  it('of pi are the times of its entries', () => {
    const call = { type: 'toolCall', id: 'c', name: 'bash', arguments: {} };
    const entry = (minutes: number, message: object): object => ({
      ...{ type: 'message', timestamp: timeAt(minutes), message },
    });
    const text = lines([
      { type: 'session', version: 3 },
      entry(0, { role: 'user', content: 'do it' }),
      entry(1, { role: 'assistant', content: [call] }),
      entry(3, { role: 'toolResult', toolCallId: 'c', content: 'a.ts' }),
      entry(4, { role: 'assistant', content: 'there' }),
      entry(64, { role: 'user', content: 'and now?' }),
      entry(65, { role: 'assistant', content: 'done' }),
    ]);
    expect(minutesOf(pi.read(text, 'p.jsonl')[0])).toEqual(EXPECTED);
  });

  it('are all equal if a recording has none, and end the cache of Copilot CLI if it has some', () => {
    const asked = { role: 'user', content: 'do it' };
    const said = { role: 'assistant', content: 'done' };
    const times = requestTimes({ messages: [asked, said, asked, said] });
    expect(new Set(times.flatMap(({ arrivedMs, answeredMs }) => [arrivedMs, answeredMs])).size).toBe(1);
    const event = (minutes: number, type: string): object => ({
      ...{ type, timestamp: timeAt(minutes), data: { content: 'x'.repeat(400), model: 'claude-opus' } },
    });
    const turns = [0, 20, 60].flatMap((minutes) => [
      event(minutes, 'user.message'),
      event(minutes + 1, 'assistant.message'),
    ]);
    const [recording] = copilot.read(lines([{ type: 'session.start', data: { sessionId: 's' } }, ...turns]), '');
    expect(recording?.usage?.map(({ read }) => read > 0)).toEqual([false, true, false]);
  });
});
