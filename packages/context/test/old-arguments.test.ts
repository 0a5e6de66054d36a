import { BodyTexts } from 'mcp-pruner/core/request/found-text.ts';
import { checksumsOf } from 'mcp-pruner/core/request/head-sums.ts';
import { givenOutMark } from 'mcp-pruner/core/result-marks.ts';
import { argumentsIn } from 'mcp-pruner/core/segments/arguments.ts';
import { parseMarker } from 'mcp-pruner/engine/text/marker.ts';
import { googleGemini } from 'mcp-pruner/wires/dialects/google-gemini/dialect.ts';
import { openaiChat } from 'mcp-pruner/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from 'mcp-pruner/wires/dialects/openai-responses/dialect.ts';
import { describe, expect, it } from 'vitest';
import { messageBytes, messagesOf } from '../../../test/helpers/chat.ts';
import { manualClock, openStore } from '../../../test/helpers/rewriter.ts';
import { sourceFile } from '../../../test/helpers/texts.ts';
import { Replica, Work } from './session.ts';

const PAUSE_MS = 31 * 60_000;
const TEXT = `/* “quoted” \\n and ünïcode 🙂 */\r\n${sourceFile(40, 1)}`;

/** The arguments of the call whose result stands at an index, as sent. */
function argsOf(body: Buffer, result: number): Record<string, string> {
  const calls = messagesOf(body)[result - 1]?.tool_calls ?? [];
  const [call] = calls as { function: { arguments: string } }[];
  return JSON.parse(call?.function.arguments ?? '') as Record<string, string>;
}

/** Reads so many files, so that what came before is old. */
function readOthers(work: Work, files = 14): void {
  for (let i = 0; i < files; i++) work.tool('read_file', { path: `src/part${i}.ts` }, sourceFile(9, i));
}

/** Sends a conversation, and sends it again after its cache has expired. */
async function afterPause(work: Work, replica = new Replica({ cold: 'on', minPruneChars: 1e9 }), dialect = openaiChat) {
  const first = await replica.send(work.messages, {}, dialect);
  const { conversationId, model } = first;
  const head = { project: 'default', conversationId, wire: 'chat', model, cacheUpTo: null, ...checksumsOf(first) };
  replica.answers.note(head, replica.clock.now, false);
  replica.clock.now += PAUSE_MS;
  return replica.send(work.messages, {}, dialect);
}

describe('the text that a call wrote into a file', () => {
  it('is put aside once the file was changed again, and all other bytes of the call stay', async () => {
    const [clock, store] = [manualClock(), openStore()];
    const replica = new Replica({ cold: 'on', minPruneChars: 1e9, clock, store });
    const work = new Work();
    const written = work.tool('write_file', { path: 'src/a.ts', mode: '1.0', content: TEXT }, 'Written.');
    work.tool('edit_file', { path: 'src/a.ts', old_string: 'a', new_string: 'b' }, 'Edited.');
    readOthers(work);
    const { body } = await afterPause(work, replica);
    const { content = '', ...others } = argsOf(body, written);
    expect(others).toEqual({ path: 'src/a.ts', mode: '1.0' });
    const marker = parseMarker(content.trimEnd());
    expect(marker).toMatchObject({ startLine: 1, reason: 'mis de côté' });
    expect(await store.findOriginal(marker?.pruneId ?? '')).toBe(TEXT);
    const [received, sentNow] = [Buffer.from(JSON.stringify({ messages: work.messages })), body.toString('utf8')];
    expect(argsOf(received, written).content).toBe(TEXT);
    const escaped = JSON.stringify(JSON.stringify(content).slice(1, -1)).slice(1, -1);
    expect(sentNow.split(escaped)).toHaveLength(2);
    const other = await new Replica({ cold: 'on', minPruneChars: 1e9, clock, store }).send(work.messages);
    expect(other.body.equals(body)).toBe(true);
    work.tool('read_file', { path: 'src/more.ts' }, sourceFile(9, 99));
    const sent = messageBytes(body);
    expect(messageBytes((await replica.send(work.messages)).body).subarray(0, sent.length)).toEqual(sent);
    expect(replica.failures).toEqual([]);
  });

  it('stays if it is the newest change of its file, if the call failed, or if the call is recent', async () => {
    const work = new Work();
    const newest = work.tool('write_file', { path: 'src/new.ts', content: TEXT }, 'Written.');
    const failed = work.tool('write_file', { path: 'src/a.ts', content: TEXT }, 'Error: read-only file system');
    const unanswered = work.tool('bash', { command: `node -e '${TEXT}'` }, 'done');
    const marked = work.tool('write_file', { path: 'src/a.ts', content: `⟦NO_PRUNE_BEGIN⟧\n${TEXT}` }, 'Written.');
    work.tool('write_file', { path: 'src/a.ts', content: 'short' }, 'Written.');
    readOthers(work);
    const recent = work.tool('write_file', { path: 'src/a.ts', content: TEXT }, 'Written.');
    work.tool('write_file', { path: 'src/a.ts', content: 'short' }, 'Written.');
    const { body } = await afterPause(work);
    for (const index of [newest, failed, unanswered, marked, recent])
      expect(messagesOf(body)[index - 1]).toEqual(work.messages[index - 1]);
  });

  it('is whole again once the result of its call is pinned', async () => {
    const replica = new Replica({ cold: 'on', minPruneChars: 1e9 });
    const work = new Work();
    const written = work.tool('write_file', { path: 'src/a.ts', content: TEXT }, 'Written.');
    work.tool('write_file', { path: 'src/a.ts', content: 'short' }, 'Written.');
    readOthers(work);
    expect(argsOf((await afterPause(work, replica)).body, written).content === TEXT).toBe(false);
    await replica.flush();
    const [conversation] = await replica.store.segments.conversations('default');
    if (!conversation) throw new Error('no conversation');
    const segments = await replica.store.segments.segments(conversation, { limit: 100 });
    await replica.gc.pin(
      'default',
      segments.filter(({ ordinal }) => ordinal === written).map(({ id }) => id),
    );
    expect(argsOf((await replica.send(work.messages)).body, written).content === TEXT).toBe(true);
    expect(argsOf((await afterPause(work, replica)).body, written).content === TEXT).toBe(true);
  });

  it('is put aside by a budget, and by a step that pays', async () => {
    for (const parts of [{ budget: 12_000 }, { paying: true }]) {
      const work = new Work();
      const written = [1, 2, 3, 4, 5, 6, 7, 8].map((i) =>
        work.tool('write_file', { path: 'src/a.ts', content: `${TEXT}${i}` }, 'Written.'),
      );
      work.tool('write_file', { path: 'src/a.ts', content: 'short' }, 'Written.');
      for (let i = 0; i < 80; i++) work.tool('bash', { command: `ls part${i}` }, `part${i}.ts`);
      const replica = new Replica({ minPruneChars: 1e9, ...parts });
      const { body } = await replica.send(work.messages);
      for (const index of written) expect(parseMarker((argsOf(body, index).content ?? '').trimEnd())).not.toBeNull();
      expect(replica.steps).toHaveLength(1);
    }
  });

  it('is not put aside where the provider verifies the history', async () => {
    const work = new Work();
    work.tool('write_file', { path: 'src/a.ts', content: TEXT }, 'Written.');
    work.tool('write_file', { path: 'src/a.ts', content: 'short' }, 'Written.');
    readOthers(work);
    const dialect = { ...openaiChat, verifiesHistory: 'always' as const };
    expect(messagesOf((await afterPause(work, undefined, dialect)).body)).toEqual(work.messages);
  });

  it('stays if lines of it were recovered', async () => {
    const work = new Work();
    const written = work.tool('write_file', { path: 'src/a.ts', content: TEXT }, 'Written.');
    work.tool('write_file', { path: 'src/a.ts', content: 'short' }, 'Written.');
    readOthers(work);
    const { content = '' } = argsOf((await afterPause(work)).body, written);
    const { pruneId = '' } = parseMarker(content.trimEnd()) ?? {};
    const replica = new Replica({ cold: 'on', minPruneChars: 1e9, store: openStore() });
    await replica.store.markServed([givenOutMark(pruneId)]);
    expect(argsOf((await afterPause(work, replica)).body, written).content === TEXT).toBe(true);
  });
});

describe('long strings in the arguments of a call', () => {
  const patch = `*** Begin Patch\n*** Update File: src/a.ts\n${TEXT}\n*** End Patch`;

  it('are found as a text of their own, in a JSON string, and in an object', () => {
    const responses = { input: [{ type: 'custom_tool_call', call_id: 'c', name: 'apply_patch', input: patch }] };
    const chat = { messages: [{ role: 'assistant', tool_calls: [call({ path: 'é.ts', content: TEXT, n: [TEXT] })] }] };
    const args = { path: 'é.ts', content: TEXT };
    const gemini = { contents: [{ role: 'model', parts: [{ functionCall: { name: 'write_file', args } }] }] };
    const rows = [
      [openaiResponses, responses, [patch]],
      [openaiChat, chat, [TEXT, TEXT]],
      [googleGemini, gemini, [TEXT]],
    ] as const;
    for (const [dialect, request, texts] of rows) {
      const body = Buffer.from(JSON.stringify(request));
      const [message] = dialect.scan(body).messages;
      if (!message) throw new Error('no message');
      const found = argumentsIn(new BodyTexts(body), message, 0);
      expect(found.map(({ text }) => text)).toEqual(texts);
      for (const { literal, placed, text } of found) {
        const whole = JSON.parse(body.toString('utf8', literal.start, literal.end)) as string;
        const [edit] = placed?.lift([{ start: 0, end: text.length, text: '' }]) ?? [];
        const cut = whole.slice(0, edit?.start) + whole.slice(edit?.end);
        const encoded = whole === text ? text : JSON.stringify(text).slice(1, -1);
        const start = edit?.start ?? 0;
        expect(whole.slice(start, edit?.end) === encoded && cut.length === whole.length - encoded.length).toBe(true);
      }
    }
  });

  it('are left alone if the arguments are short or the call changes no file', () => {
    for (const one of [call({ path: 'a.ts', content: 'short' }), call({ path: 'a.ts', question: TEXT }, 'read_file')]) {
      const body = Buffer.from(JSON.stringify({ messages: [{ role: 'assistant', tool_calls: [one] }] }));
      const [message] = openaiChat.scan(body).messages;
      if (!message) throw new Error('no message');
      expect(argumentsIn(new BodyTexts(body), message, 0)).toEqual([]);
    }
  });
});

function call(args: object, name = 'write_file'): object {
  return { id: 'c', type: 'function', function: { name, arguments: JSON.stringify(args) } };
}
