import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parseRecord } from '../src/replay/command.ts';
import { billOf } from '../src/replay/cost.ts';
import type { RecordedMessage } from '../src/replay/messages.ts';
import { bareLine, namedRange, usedLines } from '../src/replay/regret.ts';
import { Replay } from '../src/replay/replay.ts';
import { replayReport } from '../src/replay/report.ts';
import { runCommand } from './run-command.ts';

const ask = (content: string): RecordedMessage => ({ role: 'user', content });
const call = (id: string, name: string, args: object, content = ''): RecordedMessage => ({
  role: 'assistant',
  content,
  tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
});
const result = (id: string, content: string): RecordedMessage => ({ role: 'tool', tool_call_id: id, content });
const target = ({ name, args }: { name: string; args: string }) => ({
  reads: name === 'read',
  path: String((JSON.parse(args) as { path?: string }).path ?? ''),
});

const FILE = [
  'import os',
  'def first_function(value):',
  '    return value * RATE',
  'SECOND_CONSTANT = compute(42)',
  '',
].join('\n');

/** The requests that an agent sends in the course of a conversation. */
function growing(messages: readonly RecordedMessage[]): RecordedMessage[][] {
  return messages.flatMap(({ role }, i) => (role === 'assistant' ? [messages.slice(0, i)] : []));
}

describe('the lines that a conversation needed later', () => {
  const read = [ask('fix the rate'), call('1', 'read', { path: 'a.py' }), result('1', FILE)];
  const cut = (text: string): RecordedMessage[] => read.with(2, result('1', FILE.replace(`${text}\n`, 'MARKER\n')));

  it('include the lines that an edit quotes, whether kept or cut', () => {
    const edit = call('2', 'edit', { old: '    return value * RATE\n', new: '    return value * rate()\n' });
    const uses = (forwarded: RecordedMessage[]) => usedLines([...read, edit], [...forwarded, edit], target);
    expect(uses(read)).toEqual([
      { use: 'quoted', line: 'return value * RATE', at: 3, from: 2, kept: true, visible: true },
    ]);
    expect(uses(cut('    return value * RATE'))).toMatchObject([{ line: 'return value * RATE', kept: false }]);
    expect(uses(cut('SECOND_CONSTANT = compute(42)'))).toMatchObject([{ kept: true }]);
  });

  it('count as visible if an earlier result still contains them although they were cut from a newer one', () => {
    const again = [call('2', 'bash', { command: 'git show' }), result('2', FILE)];
    const edit = call('3', 'edit', { old: '    return value * RATE\n', new: '    return value * rate()\n' });
    const messages = [...read, ...again, edit];
    const lost = result('2', FILE.replace('    return value * RATE\n', 'MARKER\n'));
    expect(usedLines(messages, messages.with(4, lost), target)).toMatchObject([
      { use: 'quoted', line: 'return value * RATE', at: 5, kept: false, visible: true },
    ]);
  });

  it('are judged by what the model saw when it used them, even if the result was stashed afterwards', () => {
    const edit = call('2', 'edit', { old: '    return value * RATE\n', new: '    return value * rate()\n' });
    const gone = [...read.with(2, result('1', 'MARKER\n')), edit];
    const uses = (until: number) =>
      usedLines([...read, edit], gone, target, new Map([[2, [{ until, message: read[2] ?? ask('') }]]]));
    expect(uses(3)).toMatchObject([{ line: 'return value * RATE', at: 3, kept: true, visible: true }]);
    expect(uses(2)).toMatchObject([{ line: 'return value * RATE', at: 3, kept: false, visible: false }]);
  });

  it('may be in results that an agent without native tool calls sends as a user message', () => {
    const said: RecordedMessage = { role: 'assistant', content: 'I look.\n\n```bash\ncat a.py\n```' };
    const framed = (text: string): RecordedMessage => ({
      role: 'user',
      content: `<returncode>0</returncode>\n<output>\n${text}</output>`,
    });
    const prose: RecordedMessage = { role: 'assistant', content: 'Because SECOND_CONSTANT = compute(42) is set.' };
    const messages = [ask('why?'), said, framed(FILE), prose];
    expect(usedLines(messages, messages.with(2, framed('MARKER\n')), target)).toMatchObject([
      { use: 'quoted', line: 'SECOND_CONSTANT = compute(42)', kept: false, visible: false },
    ]);
  });

  it('count as lost even if the agent reads them again after it needed them', () => {
    const prose: RecordedMessage = { role: 'assistant', content: 'Because SECOND_CONSTANT = compute(42) is set.' };
    const again = [call('2', 'read', { path: 'a.py' }), result('2', FILE)];
    const messages = [...read, prose, ...again, prose];
    const forwarded = [...cut('SECOND_CONSTANT = compute(42)'), prose, ...again, prose];
    const quoted = usedLines(messages, forwarded, target).filter(({ use }) => use === 'quoted');
    expect(quoted).toEqual([
      { use: 'quoted', line: 'SECOND_CONSTANT = compute(42)', at: 3, from: 2, kept: false, visible: false },
    ]);
  });

  it('exclude lines that the user or the agent wrote before', () => {
    const known = read.with(0, ask('why does it say SECOND_CONSTANT = compute(42)?'));
    const prose: RecordedMessage = { role: 'assistant', content: 'Because SECOND_CONSTANT = compute(42) is set.' };
    expect(usedLines([...known, prose], [...known, prose], target)).toEqual([]);
    expect(usedLines([...read, prose], [...read, prose], target)).toHaveLength(1);
  });

  it('include lines that a second read shows, but not lines that a repeated command prints again', () => {
    const again = [call('2', 'read', { path: 'a.py', from: 3 }), result('2', '    return value * RATE\n')];
    expect(usedLines([...read, ...again], [...cut('    return value * RATE'), ...again], target)).toMatchObject([
      { use: 'read again', line: 'return value * RATE', at: 4, kept: false, visible: false },
    ]);
    const run = [
      call('3', 'bash', {}),
      result('3', 'all 14 tests passed'),
      call('4', 'bash', {}),
      result('4', 'all 14 tests passed'),
    ];
    expect(usedLines(run, run, target)).toEqual([]);
  });

  it('include lines that an edit names by line number', () => {
    const view = [
      call('1', 'bash', { command: 'open a.py' }),
      result('1', '10:first = 1\n11:second = 2\n12:third = 3\n'),
    ];
    const edit = call('2', 'bash', { command: 'edit 11:12\nsecond = 4\nend_of_edit' });
    const forwarded = view.with(1, result('1', '10:first = 1\nMARKER\n12:third = 3\n'));
    expect(usedLines([...view, edit], [...forwarded, edit], target)).toMatchObject([
      { use: 'edited by number', line: 'second = 2', at: 2, kept: false, visible: false },
      { use: 'edited by number', line: 'third = 3', at: 2, kept: true, visible: true },
    ]);
    const named = { id: '', name: 'edit_file', args: '{"start_line": 3, "end_line": "9"}' };
    expect(namedRange(named)).toEqual({ first: 3, last: 9 });
    expect(namedRange({ ...named, name: 'read_file' })).toBeNull();
  });

  it('are found after line numbers, after search locations and in single-line JSON', () => {
    expect(bareLine('   12\treturn value')).toBe('return value');
    expect(bareLine('12→  return value')).toBe('return value');
    expect(bareLine('src/a.py:12:    return value')).toBe('return value');
    const wrapped = [call('1', 'bash', {}), result('1', JSON.stringify({ output: FILE }))];
    const edit = call('2', 'edit', { old: 'SECOND_CONSTANT = compute(42)' });
    expect(usedLines([...wrapped, edit], [...wrapped, edit], target)).toMatchObject([{ use: 'quoted', kept: true }]);
  });
});

describe('the bill with a prompt cache', () => {
  const words = (n: number): RecordedMessage => ask('word '.repeat(n));

  it('charges a shared prefix at a tenth of the price', () => {
    const first = { headTokens: 100, messages: [words(500)] };
    const second = { headTokens: 100, messages: [words(500), words(300)] };
    const alone = billOf(first, null);
    expect(alone).toMatchObject({ cachedTokens: 0, billed: alone.tokens });
    const next = billOf(second, first);
    expect(next.cachedTokens).toBe(alone.tokens);
    expect(next.billed).toBeCloseTo(next.tokens - 0.9 * alone.tokens);
  });

  it('includes no cached tokens after a change', () => {
    const first = { headTokens: 0, messages: [words(5), words(500)] };
    const changed = { headTokens: 0, messages: [ask('x'), words(500), words(5)] };
    expect(billOf(changed, first).cachedTokens).toBe(0);
  });
});

describe('a replay', () => {
  const conversation = [
    ask('fix the rate'),
    call('1', 'read', { path: 'a.py' }),
    result('1', FILE.repeat(50)),
    call('2', 'edit', { old: '    return value * RATE' }),
    result('2', 'done'),
    { role: 'assistant', content: 'The rate is fixed.' },
  ];
  const shorten = (body: Buffer): Buffer => {
    const parsed = JSON.parse(body.toString()) as { messages: RecordedMessage[] };
    return Buffer.from(
      JSON.stringify({
        ...parsed,
        messages: parsed.messages.map((m) =>
          m.role === 'tool' && String(m.content).length > 500 ? { ...m, content: 'MARKER' } : m,
        ),
      }),
    );
  };
  const run = async (rewrite: (body: Buffer, n: number) => Buffer, requests = growing(conversation)) => {
    let n = 0;
    const replay = new Replay({ rewrite: async (body) => rewrite(body, n++), targetOf: target });
    for (const messages of requests) await replay.add({ body: { model: 'm', messages } });
    return replayReport(replay.finish());
  };

  it('reports the totals of tokens and cost, and stability and regret', async () => {
    const report = await run(shorten);
    expect(report).toMatchObject({
      conversations: 1,
      requests: 3,
      prunedMessages: 1,
      prefixStable: 1,
      laterUsedKept: 0,
    });
    expect(report.tokensAfter).toBeLessThan(report.tokensBefore / 2);
    expect(report.costRatio).toBeLessThan(0.5);
    expect(report.uses.quoted).toEqual({ used: 1, kept: 0, visible: 0 });
    expect(await run((body) => body)).toMatchObject({
      costRatio: 1,
      prefixStable: 1,
      laterUsedKept: 1,
      prunedMessages: 0,
    });
  });

  it('detects a pruner that changes the history', async () => {
    const report = await run((body, n) => (n === 2 ? shorten(body) : body));
    expect(report.prefixStable).toBe(0.5);
    expect(report.costRatio).toBeGreaterThan(0.8);
  });

  it('distinguishes conversations, and detects a client that rewrites its own history', async () => {
    const other = growing([ask('something else'), ...conversation.slice(1)]);
    const mixed = growing(conversation).flatMap((request, i) => [request, other[i] ?? []]);
    const compacted = [ask('fix the rate'), { role: 'assistant', content: 'summary' }, ask('go on')];
    const report = await run((body) => body, [...mixed, compacted]);
    expect(report).toMatchObject({ conversations: 2, requests: 7, changedByClient: 1, prefixStable: 1, costRatio: 1 });
  });

  it('reads bare requests and requests wrapped in objects, and skips everything else', async () => {
    expect(parseRecord('{"messages": []}')).toEqual({ body: { messages: [] } });
    const answer = { role: 'assistant', content: 'x' };
    const response = { choices: [{ message: answer }] };
    expect(parseRecord(JSON.stringify({ request: { n: 1 }, response }))).toEqual({ body: { n: 1 }, response, answer });
    const replay = new Replay({ rewrite: async (body) => body, targetOf: target });
    for (const line of ['no JSON', '{"messages": "x"}', '[]']) await replay.add(parseRecord(line));
    expect(replay.finish()).toMatchObject({ unreadable: 3, requests: 0 });
  });
});

describe('mcp-pruner replay', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-replay-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const log = join(folder, 'requests.jsonl');
  const noise = Array.from({ length: 400 }, (_, i) => `12:00:${i} INFO served item ${i} in ${i % 7} ms`);
  const messages = [
    ask('Why did order 4711 fail? Look into the log.'),
    call('1', 'bash', { command: 'cat app.log' }),
    result('1', noise.with(200, '12:00:07 ERROR order 4711 refused: card expired').join('\n')),
    { role: 'assistant', content: 'The log says: ERROR order 4711 refused: card expired' },
  ];
  writeFileSync(
    log,
    growing(messages)
      .map((m) => `${JSON.stringify({ model: 'm', messages: m })}\n`)
      .join('\n'),
  );

  it('sends recorded requests through the code of the proxy', async () => {
    const { code, out, err } = await runCommand(['replay', log, '--json']);
    expect([code, err]).toEqual([0, '']);
    const report = JSON.parse(out);
    expect(report).toMatchObject({ conversations: 1, requests: 2, prunedMessages: 1, prefixStable: 1 });
    expect(report.tokensAfter).toBeLessThan(report.tokensBefore / 2);
    expect(await runCommand(['replay', log, '--json'])).toMatchObject({ out });
  });

  it('reports an unusable file in one line', async () => {
    expect(await runCommand(['replay', join(folder, 'none.jsonl')])).toMatchObject({ code: 1 });
    const { code, err } = await runCommand(['replay', join(folder, 'none.jsonl')]);
    expect([code, err.split('\n').length]).toEqual([1, 2]);
    expect(err).toContain('ENOENT');
    expect((await runCommand(['replay'])).code).toBe(2);
    const empty = join(folder, 'empty.jsonl');
    writeFileSync(empty, '{"hello": 1}\n');
    expect((await runCommand(['replay', empty])).err).toContain('no request to a model');
  });
});
