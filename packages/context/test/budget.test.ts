import { join } from 'node:path';
import type { StoredSegment } from 'mcp-pruner/core/ports/segments.ts';
import { parseMarker } from 'mcp-pruner/engine/text/marker.ts';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { contentAt, messageBytes, messagesOf } from '../../../test/helpers/chat.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { sourceFile } from '../../../test/helpers/texts.ts';
import { Replica, Work } from './session.ts';

const BUDGET = 16_000;

/** An agent that reads file after file, some 850 tokens each, none of them twice. */
function reading(files: number, work = new Work(), from = 0): Work {
  for (let i = from; i < from + files; i++) {
    work.tool('read_file', { path: `src/part${i}.ts` }, sourceFile(7, i), `Now part ${i}.`);
  }
  return work;
}

function stashed(body: Buffer): number[] {
  return messagesOf(body).flatMap(({ content }, i) =>
    typeof content === 'string' && parseMarker(content.trimEnd())?.reason === 'mis de côté' ? [i] : [],
  );
}

async function segmentsOf(replica: Replica): Promise<readonly StoredSegment[]> {
  await replica.flush();
  const { store } = replica;
  const [conversation] = await store.segments.conversations('default');
  return conversation ? store.segments.segments(conversation, { limit: 100 }) : [];
}

describe('a conversation that passes its budget', () => {
  it('is reduced well below the budget in one step, which later turns repeat', async () => {
    const replica = new Replica({ budget: BUDGET, minPruneChars: 1e9 });
    const work = new Work();
    let before: Buffer = Buffer.alloc(0);
    let turns = 0;
    while (replica.steps.length === 0) {
      before = messageBytes((await replica.send(reading(1, work, turns++).messages)).body);
      expect(turns).toBeLessThan(60);
    }
    const step = replica.steps.at(-1);
    expect(step).toMatchObject({ project: 'default', requestId: 'req' });
    expect(step?.tokensBefore).toBeGreaterThan(BUDGET);
    expect(step?.tokensAfter).toBeLessThanOrEqual(BUDGET * 0.6);
    const gone = stashed((await replica.send(work.messages)).body);
    expect(gone).toHaveLength(step?.segments ?? 0);
    expect(Math.max(...gone)).toBeLessThan(work.messages.length - 12);

    let last: Buffer = before;
    for (let i = 0; i < 4; i++) {
      const { body } = await replica.send(reading(1, work, turns++).messages);
      expect(messageBytes(body).subarray(0, last.length)).toEqual(last);
      last = messageBytes(body);
    }
    expect(replica.steps).toHaveLength(1);
    expect(replica.failures).toEqual([]);
  });

  it('keeps the texts that the work still needs', async () => {
    const replica = new Replica({ budget: BUDGET, minPruneChars: 1e9 });
    const work = new Work();
    const old = work.tool('read_file', { path: 'src/edited.ts' }, sourceFile(7, 90));
    work.tool('edit_file', { path: 'src/edited.ts', old_string: 'a', new_string: 'b' }, 'Edited.');
    const edited = work.tool('read_file', { path: 'src/edited.ts' }, sourceFile(7, 91));
    const failed = work.tool('bash', { command: 'make' }, `${sourceFile(7, 92)}\nProcess exited with code 2`);
    const attached = work.say('user', `<file path="src/mine.ts">\n${sourceFile(7, 93)}</file>\nLook at it.`);
    const gone = stashed((await replica.send(reading(24, work).messages)).body);
    expect(gone).toContain(old);
    for (const index of [edited, failed, attached]) expect(gone).not.toContain(index);
  });

  it('is collected rarely even if the parts that must stay exceed the budget', async () => {
    const replica = new Replica({ budget: BUDGET / 4, minPruneChars: 1e9 });
    const work = new Work();
    const turns = 30;
    for (let turn = 0; turn < turns; turn++) await replica.send(reading(1, work, turn).messages);
    expect(replica.steps.length).toBeGreaterThan(1);
    expect(replica.steps.length).toBeLessThan(turns / 3);
    for (const { tokensBefore, tokensAfter } of replica.steps) {
      expect(tokensAfter <= BUDGET / 4 || tokensBefore - tokensAfter >= tokensBefore / 3).toBe(true);
    }
  });

  it('keeps every word of the user and the assistant, and pinned, exempt and recovered texts', async () => {
    const replica = new Replica({ budget: BUDGET, minPruneChars: 1e9, neverPruneTool: (name) => name === 'keep_me' });
    const work = new Work();
    const pinned = work.tool('read_file', { path: 'src/pinned.ts' }, sourceFile(7, 100));
    const exempt = work.tool('keep_me', { n: 1 }, sourceFile(7, 101));
    const recovered = work.tool(
      'mcp__pruner__recover_text',
      { prune_id: 'prn_000000000000' },
      JSON.stringify({ raw_text: sourceFile(7, 102), metadata: { line_numbering: 'original' } }),
    );
    const words = work.say(
      'assistant',
      `I see. ${'The charge waits for the queue, and the queue for the charge. '.repeat(60)}`,
    );
    await replica.send(work.messages);
    const id = (await replica.analyze({ roots: {} })).segments;
    expect(id).toBeGreaterThan(3);
    const found = await replica.store.segments.conversations('default');
    const [conversation] = found;
    if (!conversation) throw new Error('no conversation');
    const segments = await replica.store.segments.segments(conversation, { limit: 100 });
    await replica.gc.pin(
      'default',
      segments.filter(({ path }) => path === 'src/pinned.ts').map((one) => one.id),
    );
    reading(20, work);
    const { body } = await replica.send(work.messages);
    expect(replica.steps).toHaveLength(1);
    const gone = stashed(body);
    expect(gone.length).toBeGreaterThan(2);
    for (const index of [pinned, exempt, recovered, words]) expect(gone).not.toContain(index);
    const said = (messages: typeof work.messages) => messages.filter(({ role }) => role !== 'tool');
    expect(said(messagesOf(body))).toEqual(said(work.messages));
  });

  it('keeps the results of the newest turns, however many calls were made at once', async () => {
    const replica = new Replica({ budget: BUDGET, minPruneChars: 1e9 });
    const messages = [...new Work().messages];
    for (let turn = 0; turn < 5; turn++) {
      const ids = Array.from({ length: 8 }, (_, i) => `call_${turn}_${i}`);
      const calls = ids.map((id) => ({
        id,
        type: 'function',
        function: { name: 'read_file', arguments: `{"path":"${id}"}` },
      }));
      messages.push({ role: 'assistant', content: null, tool_calls: calls });
      messages.push(...ids.map((id, i) => ({ role: 'tool', tool_call_id: id, content: sourceFile(7, turn * 8 + i) })));
    }
    const gone = stashed((await replica.send(messages)).body);
    const first = [3, 4, 5, 6, 7, 8, 9, 10];
    expect(gone).toEqual([...first, ...first.map((index) => index + 9)]); // two turns, though there is more to be had
    expect(replica.steps).toHaveLength(1);
  });

  it('is forwarded with the same bytes by another process, and after a restart', async () => {
    const path = join(tempFolder(), 'store.db');
    const parts = { budget: BUDGET, minPruneChars: 1e9 };
    const here = new Replica({ ...parts, store: openStore(path) });
    const there = new Replica({ ...parts, store: openStore(path) });
    const work = reading(14);
    await there.send(work.messages);
    reading(8, work, 14);
    const { body } = await here.send(work.messages);
    expect(here.steps).toHaveLength(1);
    expect((await there.send(work.messages)).body).toEqual(body);
    expect((await new Replica({ ...parts, store: openStore(path) }).send(work.messages)).body).toEqual(body);
    // the same store without a budget goes on as it was
    expect((await new Replica({ ...parts, budget: 0, store: openStore(path) }).send(work.messages)).body).toEqual(body);
    expect(there.steps).toEqual([]);
  });

  it('is forwarded with the same bytes by a process that saw only its beginning before the step', async () => {
    const path = join(tempFolder(), 'store.db');
    const parts = { budget: 2 * BUDGET, minPruneChars: 1e9 };
    const here = new Replica({ ...parts, store: openStore(path) });
    const work = new Work();
    work.say('user', 'These are words of the user, which stay. '.repeat(1_700)); // so that it is remembered at all
    reading(26, work);
    const { body } = await here.send(work.messages);
    expect(here.steps).toHaveLength(1);
    const there = new Replica({ ...parts, store: openStore(path) });
    const start = work.messages.slice(0, 13);
    expect(messagesOf((await there.send(start)).body)).toEqual(start);
    expect((await there.send(work.messages)).body).toEqual(body);
    expect(there.steps).toEqual([]);
  });

  it('restores a stashed text for good if it is pinned', async () => {
    const replica = new Replica({ budget: BUDGET, minPruneChars: 1e9 });
    const work = reading(22);
    const [index = 0] = stashed((await replica.send(work.messages)).body);
    const segment = (await segmentsOf(replica)).find(({ ordinal }) => ordinal === index);
    expect(segment?.directed).toBe('stash');
    await replica.gc.pin('default', [segment?.id ?? '']);
    expect(contentAt((await replica.send(work.messages)).body, index)).toBe(work.messages[index]?.content);
    await replica.gc.unpin('default', [segment?.id ?? '']);
    expect(contentAt((await replica.send(work.messages)).body, index)).toBe(work.messages[index]?.content);
  });

  it('leaves a branch from before the step unchanged', async () => {
    const replica = new Replica({ budget: BUDGET, minPruneChars: 1e9 });
    const work = reading(22);
    await replica.send(work.messages);
    expect(replica.steps).toHaveLength(1);
    const branch = [...work.messages.slice(0, 10), { role: 'user', content: 'No, look elsewhere.' }];
    const { body } = await replica.send(branch);
    expect(messagesOf(body)).toEqual(branch);
    expect(stashed((await replica.send(work.messages)).body).length).toBeGreaterThan(0);
  });

  it('is collected only once if the client changes its last messages each time', async () => {
    const replica = new Replica({ budget: BUDGET, minPruneChars: 1e9 });
    const work = reading(22);
    const reminded = (text: string) => [
      ...work.messages,
      { role: 'user', content: `<system-reminder>${text}</system-reminder>` },
    ];
    const gone = stashed((await replica.send(reminded('one'))).body);
    expect(gone.length).toBeGreaterThan(2);
    reading(1, work, 22);
    expect(stashed((await replica.send(reminded('two'))).body)).toEqual(gone);
    expect(replica.steps).toHaveLength(1);
  });

  it('is forwarded whole if nothing may be stashed', async () => {
    const replica = new Replica({ budget: 2_000, minPruneChars: 1e9 });
    const work = new Work();
    for (let i = 0; i < 30; i++) work.say(i % 2 ? 'user' : 'assistant', `${i} ${'words that stay. '.repeat(30)}`);
    const { body } = await replica.send(work.messages);
    expect(messagesOf(body)).toEqual(work.messages);
    expect(replica.steps).toEqual([]);
  });

  it('is forwarded whole if the step cannot be stored', async () => {
    const replica = new Replica({ budget: BUDGET, minPruneChars: 1e9 });
    const work = reading(22);
    const { segments } = replica.store;
    segments.change = () => Promise.reject(new Error('disk full'));
    const { body } = await replica.send(work.messages);
    expect(messagesOf(body)).toEqual(work.messages);
    expect(replica.failures).toContain('not_collected');
  });

  it('records the step as an event', async () => {
    const replica = new Replica({ budget: BUDGET, minPruneChars: 1e9 });
    const { conversationId } = await replica.send(reading(22).messages);
    const events = await replica.store.events({ runId: conversationId, fromSeq: 0, limit: 10 });
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ kind: 'stashed', opId: 'req', payload: { by: 'budget', project: 'default' } });
    expect(JSON.stringify(events)).not.toContain('loadOrder');
  });
});
