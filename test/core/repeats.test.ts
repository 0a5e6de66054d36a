import { Session } from 'node:inspector/promises';
import { describe, expect, it } from 'vitest';
import { hashLines } from '../../src/engine/text/line-hashes.ts';
import { parseMarker } from '../../src/engine/text/marker.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { chatBody, contentAt, type Message, messagesOf, toolTurn } from '../helpers/chat.ts';
import { openPipeline, openRewriter, openStore, restored, verdicts } from '../helpers/rewriter.ts';

const ASKED: Message = { role: 'user', content: 'Make the total of an order right.' };
const lineOf = (i: number): string => `  const value${i} = convert(input.part${i}, 'unit ${i * 7}');`;
/** Lines of a file, `from` and `to` included. */
const file = (from = 1, to = 120): string[] => Array.from({ length: to - from + 1 }, (_, i) => lineOf(from + i));
const numbered = (lines: readonly string[], from = 1): string[] => lines.map((line, i) => `${i + from}\t${line}`);
const read = (id: string, content: readonly string[] | string, args: object = {}): Message[] =>
  toolTurn(id, 'Read', { file_path: 'src/a.ts', ...args }, typeof content === 'string' ? content : content.join('\n'));
const say = (text: string): Message => ({ role: 'assistant', content: text });
const other = (n: number): Message[] =>
  Array.from({ length: n }, (_, i) => toolTurn(`o${i}`, 'bash', { command: `echo ${i}` }, `${i}`)).flat();
const edit = (id: string, from: string, to: string, answer = 'The file src/a.ts has been updated.'): Message[] =>
  toolTurn(id, 'Edit', { file_path: 'src/a.ts', old_string: from, new_string: to }, answer);

const SIZES = { minPruneChars: 4_000, minOutputChars: 1_000, repeats: true };

/** The last message as sent, and why it is whole. */
async function lastOf(messages: readonly Message[], more: object = {}) {
  const store = openStore();
  const sent = await openRewriter({ ...SIZES, history: 're-prune', store, ...more }).rewrite(chatBody(messages));
  const text = contentAt(sent.body, -1);
  const markers = text.split('\n').flatMap((line) => parseMarker(line) ?? []);
  return { text, markers, verdict: verdicts(sent).at(-1), restored: await restored(text, store) };
}

/** Counts the calls of a function during some work. A module mock would not reach modules that other files loaded. */
async function callsOf(counted: (...args: never[]) => unknown, work: () => Promise<unknown>): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await work();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const ranges = result.flatMap(({ functions }) =>
      functions.flatMap(({ functionName, ranges: [whole] }) => (functionName === counted.name ? (whole ?? []) : [])),
    );
    return ranges.reduce((sum, { count }) => sum + count, 0);
  } finally {
    session.disconnect();
  }
}

describe('lines that an earlier result shows whole', () => {
  it('are cut, and the marker names tool, path and lines', async () => {
    const { text, markers, restored: back } = await lastOf([ASKED, ...read('c1', file()), ...read('c2', file())]);
    expect(markers).toHaveLength(1);
    expect(markers[0]).toMatchObject({ startLine: 4, reason: 'déjà montré: Read src/a.ts lignes 4-111, identique' });
    expect(text.split('\n').slice(0, 3)).toEqual(file(1, 3));
    expect(text.split('\n').slice(-3)).toEqual(file(118, 120));
    expect(back).toBe(file().join('\n'));
    const english = await lastOf([ASKED, ...read('c1', file()), ...read('c2', file())], { reasonLanguage: 'en' });
    expect(english.markers[0]?.reason).toBe('already shown: Read src/a.ts lines 4-111, identical');
  });

  it('are found by reading each result once, and the copy once more where it stands', async () => {
    const calls = await callsOf(hashLines, () => lastOf([ASKED, ...read('c1', file()), ...read('c2', file())]));
    expect(calls).toBe(3);
  });

  it('stay whole if the setting is off', async () => {
    const { markers } = await lastOf([ASKED, ...read('c1', file()), ...read('c2', file())], { repeats: false });
    expect(markers).toEqual([]);
  });

  it('keep changed lines whole, with three lines on either side', async () => {
    const changed = file().with(59, '  const value60 = convertAgain(input);');
    const { text, markers, restored: back } = await lastOf([ASKED, ...read('c1', file()), ...read('c2', changed)]);
    expect(markers).toHaveLength(2);
    expect(text).toContain(changed.slice(56, 63).join('\n'));
    expect(back).toBe(changed.join('\n'));
  });

  it('are compared without numbers, and a shift is named', async () => {
    const longer = [...file(1, 10), '// one', '// two', ...file(11, 120)];
    const { markers } = await lastOf([ASKED, ...read('c1', numbered(file())), ...read('c2', numbered(longer))]);
    expect(markers.map(({ reason }) => reason).at(-1)).toMatch(
      /^déjà montré: Read src\/a\.ts lignes 14-\d+ \(ici 16-\d+\), identique$/,
    );
  });

  it('are named by the lines of the file if the first read began in the middle', async () => {
    const window = read('c1', numbered(file(41, 160), 41), { offset: 41, limit: 120 });
    const { markers } = await lastOf([ASKED, ...window, ...read('c2', numbered(file(1, 200)))]);
    expect(markers[0]).toMatchObject({ startLine: 44, reason: 'déjà montré: Read src/a.ts lignes 44-157, identique' });
  });

  it('are named as another file under another path', async () => {
    const copy = toolTurn('c2', 'Read', { file_path: 'src/b.ts' }, file().join('\n'));
    const { markers } = await lastOf([ASKED, ...read('c1', file()), ...copy]);
    expect(markers[0]?.reason).toMatch(/^déjà montré: Read src\/a\.ts \(autre fichier\) lignes 4-/);
  });

  it('are found in the output of any command, in short results too', async () => {
    const small = file(1, 50).join('\n');
    expect(small.length).toBeLessThan(4_000);
    const { markers } = await lastOf([
      ASKED,
      ...toolTurn('c1', 'bash', { command: 'cat src/a.ts' }, small),
      ...read('c2', small),
    ]);
    expect(markers).toHaveLength(1);
  });

  it('refer to the first of parallel results', async () => {
    const [call, result] = read('c1', file());
    const second = read('c2', file());
    const calls = [call, second[0]].flatMap((one) => (one?.tool_calls as object[] | undefined) ?? []);
    const turn = [{ role: 'assistant', content: null, tool_calls: calls }, result, second[1]] as Message[];
    const sent = await openRewriter(SIZES).rewrite(chatBody([ASKED, ...turn]));
    expect(contentAt(sent.body, 2)).toBe(file().join('\n'));
    expect(contentAt(sent.body, 3)).toContain('déjà montré');
  });
});

describe('a repeat passes whole', () => {
  const twice = (second: Message[], first = read('c1', file())): Message[] => [ASKED, ...first, ...second];

  it.each<[string, Message[]]>([
    ['of fewer than 40 lines and 2,000 characters', twice(read('c2', file(1, 30)))],
    ['with other line endings', twice(read('c2', file().join('\r\n')))],
    ['with other numbering', twice(read('c2', numbered(file())))],
    ['under NO_PRUNE', twice(read('c2', ['⟦NO_PRUNE_BEGIN⟧', ...file(), '⟦NO_PRUNE_END⟧']))],
    ['that reports an error', twice(read('c2', ['Error: the file is read-only', ...file()]))],
    ['of a call that asks a question', twice(read('c2', file(), { context_focus_question: 'Where is value3 set?' }))],
    [
      'after an edit of its file failed',
      twice([...edit('e1', 'a', 'b', 'Error: old_string not found in file'), ...read('c2', file())]),
    ],
    [
      'of a result that a summary of the provider replaced',
      twice([{ role: 'assistant', content: [{ type: 'compaction', content: 'x' }] }, ...read('c2', file())]),
    ],
  ])('%s', async (_, messages) => {
    expect((await lastOf(messages)).markers.filter(({ reason }) => reason.includes('déjà'))).toEqual([]);
  });

  it('near lines that an edit wrote since the copy, even if they equal the copy again', async () => {
    const undone = [...edit('e1', lineOf(60), '// gone'), ...edit('e2', '// gone', lineOf(60)), ...read('c2', file())];
    const { text, markers } = await lastOf(twice(undone));
    expect(markers).toHaveLength(2);
    expect(text).toContain(file(57, 63).join('\n'));
  });

  it('whose copy was cut itself', async () => {
    const log = (seed: number): string =>
      Array.from(
        { length: 300 },
        (_, i) => `2026-05-01T10:00:${10 + (i % 50)}Z INFO request ${i + seed} served in ${i % 37} ms`,
      ).join('\n');
    const first = toolTurn('c1', 'bash', { command: 'npm start' }, log(0));
    const { text } = await lastOf([ASKED, ...first, ...toolTurn('c2', 'bash', { command: 'npm run dev' }, log(0))]);
    expect(text).not.toContain('déjà montré');
  });
});

describe('a place that is read again', () => {
  const window = (id: string, from: number, to: number): Message[] =>
    read(id, numbered(file(from, to), from), { offset: from, limit: to - from + 1 });

  it('within ten requests goes whole, and its path is not cut as a repeat again', async () => {
    const [first, second] = [window('c1', 1, 200), window('c2', 50, 130)];
    const again = [ASKED, ...first, ...second, ...window('c3', 60, 120)];
    expect((await lastOf([ASKED, ...first, ...second])).markers).toHaveLength(1);
    expect(await lastOf(again)).toMatchObject({ markers: [], verdict: 'repeat_read_again' });
    expect((await lastOf([...again, ...other(14), ...window('c4', 1, 100)])).markers).toEqual([]);
    const elsewhere = read('c5', file(), { file_path: 'src/b.ts' });
    const twice = read('c6', file(), { file_path: 'src/b.ts' });
    expect((await lastOf([...again, ...elsewhere, ...twice])).markers.length).toBeGreaterThan(0);
  });

  it('after more than ten requests, or in other lines, is cut again', async () => {
    const before = [ASKED, ...window('c1', 1, 200), ...window('c2', 50, 130)];
    expect((await lastOf([...before, ...other(10), ...window('c3', 50, 130)])).markers).toHaveLength(1);
    expect((await lastOf([...before, ...other(9), ...window('c3', 50, 130)])).markers).toEqual([]);
    expect((await lastOf([...before, ...window('c3', 135, 195)])).markers).toHaveLength(1);
  });

  it('by a short window ends the cutting as well', async () => {
    const before = [ASKED, ...window('c1', 1, 200), ...window('c2', 50, 130), ...window('c3', 70, 75)];
    expect((await lastOf([...before, ...other(12), ...window('c4', 50, 130)])).markers).toEqual([]);
  });
});

describe('what was sent', () => {
  const turns: Message[] = [
    ASKED,
    ...read('c1', file()),
    say('I see.'),
    ASKED,
    ...read('c2', file()),
    say('Again.'),
    ASKED,
  ];

  it('stays a prefix of the next request, in another process and without a store', async () => {
    const store = openStore();
    const one = openRewriter({ ...SIZES, store });
    const bodies: string[] = [];
    for (const end of [1, 3, 5, 7, 9]) {
      const { body } = await one.rewrite(chatBody(turns.slice(0, end)));
      bodies.push(JSON.stringify(messagesOf(body)).slice(0, -1));
    }
    for (const [i, body] of bodies.entries()) expect(body.startsWith(bodies[i - 1] ?? '')).toBe(true);
    const last = bodies.at(-1) ?? '';
    expect(last).toContain('déjà montré');
    const other = await openRewriter({ ...SIZES, store, repeats: false }).rewrite(chatBody(turns));
    expect(JSON.stringify(messagesOf(other.body)).slice(0, -1)).toBe(last);
    const anew = await openRewriter({ ...SIZES, history: 're-prune' }).rewrite(chatBody(turns));
    expect(JSON.stringify(messagesOf(anew.body)).slice(0, -1)).toBe(last);
  });

  it.each<[string, Dialect]>([
    ['free', openaiChat],
    ['bound', openaiResponses],
  ])('goes whole once the client dropped the copy, on a %s wire', async (_, dialect) => {
    const store = openStore();
    const text = file().join('\n');
    const items = (first: string): object[] => [
      { role: 'user', content: 'Make the total right.' },
      { type: 'function_call', call_id: 'c1', name: 'Read', arguments: '{"file_path":"src/a.ts"}' },
      { type: 'function_call_output', call_id: 'c1', output: first },
      { type: 'reasoning', id: 'r1', encrypted_content: 'abc', summary: [] },
      { type: 'function_call', call_id: 'c2', name: 'Read', arguments: '{"file_path":"src/a.ts"}' },
      { type: 'function_call_output', call_id: 'c2', output: text },
    ];
    const bodyOf = (first: string): Buffer =>
      dialect === openaiChat
        ? chatBody([ASKED, ...read('c1', first), ...read('c2', file())])
        : Buffer.from(JSON.stringify({ model: 'gpt-6.2', store: false, input: items(first) }));
    const rewrite = (first: string) => openPipeline({ ...SIZES, store }).rewrite({ body: bodyOf(first), dialect });
    const before = (await rewrite(text)).body.toString();
    expect(before).toContain('déjà montré');
    expect((await rewrite(text)).body.toString()).toBe(before);
    const after = (await rewrite('[old result cleared]')).body.toString();
    expect(after).not.toContain('déjà montré');
    expect(after).toContain(JSON.stringify(text).slice(1, -1));
  });
});
