import { join } from 'node:path';
import fc from 'fast-check';
import { parseMarker } from 'mcp-pruner/engine/text/marker.ts';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { type Message, messageBytes, messagesOf } from '../../../test/helpers/chat.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { Replica, Work } from './session.ts';

/** Conversations of everything that segments are made of, some texts large enough to be pruned anyway. */
const works = fc
  .array(
    fc.oneof(
      fc.nat(5).map((seed) => (work: Work) => work.tool('bash', { command: `npm run j${seed}` }, serverLog(60, seed))),
      fc.nat(5).map((seed) => (work: Work) => work.tool('read_file', { path: `src/f${seed}.ts` }, sourceFile(8, seed))),
      fc.nat(5).map((seed) => (work: Work) => work.tool('noop', { seed }, `short answer ${seed}\r\n`)),
      fc
        .nat(5)
        .map(
          (seed) => (work: Work) => work.tool('sh', { seed }, JSON.stringify({ output: serverLog(50, seed), exit: 0 })),
        ),
      fc.nat(5).map(
        (seed) => (work: Work) =>
          work.tool('parts', { seed }, [
            { type: 'text', text: serverLog(40, seed) },
            { type: 'text', text: 'end \ud83d' },
            { type: 'image_url', image_url: { url: 'data:x' } },
          ]),
      ),
      fc
        .nat(3)
        .map((seed) => (work: Work) => work.say('assistant', `I think that ${'it is the queue. '.repeat(20 + seed)}`)),
      fc
        .nat(3)
        .map(
          (seed) => (work: Work) =>
            work.say(
              'user',
              `Look:\n<file path="src/a${seed}.ts">\n${sourceFile(6, seed)}\n</file>\nand\n<file path="src/b.ts">\n${sourceFile(4, seed)}\n</file>\nplease`,
            ),
        ),
    ),
    { minLength: 3, maxLength: 9 },
  )
  .map((steps) => {
    const work = new Work();
    for (const step of steps) step(work);
    return work;
  });

const actions = fc.array(fc.constantFrom('pin', 'stash', 'delete', null), { minLength: 24, maxLength: 24 });

interface Segment {
  readonly id: string;
  readonly ordinal: number;
}

async function segmentsOf(replica: Replica): Promise<Segment[]> {
  await replica.flush();
  const { store } = replica;
  const [conversation] = await store.segments.conversations('default');
  return conversation ? [...(await store.segments.segments(conversation, { limit: 1_000 }))].reverse() : [];
}

async function direct({ gc }: Replica, segments: readonly Segment[], what: readonly (string | null)[]): Promise<void> {
  for (const [i, { id }] of segments.entries()) {
    const action = what[i % what.length] ?? null;
    if (action === 'pin') await gc.pin('default', [id]);
    else if (action === 'stash' || action === 'delete') await gc.prune('default', [id], action);
  }
}

/** The texts of a message, whatever its shape. */
function textsOf({ content }: Message): string[] {
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return (content as { type: string; text: string }[]).filter(({ type }) => type === 'text').map(({ text }) => text);
}

describe('with any directives about the segments of a conversation', () => {
  it('only texts change: roles, calls, parts, fields and the system prompt stay', async () => {
    await fc.assert(
      fc.asyncProperty(works, actions, async (work, what) => {
        const replica = new Replica();
        await replica.send(work.messages);
        const segments = await segmentsOf(replica);
        await direct(replica, segments, what);
        const { body } = await replica.send(work.messages);
        const bare = (message: Message): unknown =>
          JSON.parse(JSON.stringify({ ...message, ...(message.content ? { content: textsOf(message).length } : {}) }));
        const got = messagesOf(body);
        expect(got.map(bare)).toEqual(work.messages.map(bare));
        expect(got[0]).toEqual(work.messages[0]);
        expect(replica.failures).toEqual([]);
      }),
      { numRuns: 12 },
    );
  });

  it('pinned texts stay whole, others become markers, which recover stashed but not deleted texts', async () => {
    await fc.assert(
      fc.asyncProperty(
        works,
        fc.constantFrom('pin' as const, 'stash' as const, 'delete' as const),
        async (work, action) => {
          const replica = new Replica();
          await replica.send(work.messages);
          const wanted = (await segmentsOf(replica)).map(({ id }) => id);
          const { done } =
            action === 'pin'
              ? await replica.gc.pin('default', wanted)
              : await replica.gc.prune('default', wanted, action);
          const { body } = await replica.send(work.messages);
          const got = messagesOf(body);
          if (action === 'pin') {
            expect(got).toEqual(JSON.parse(JSON.stringify(work.messages)));
            return;
          }
          const markers = got
            .flatMap(textsOf)
            .flatMap((text) => text.split('\n').flatMap((line) => parseMarker(line) ?? []));
          const ours = markers.filter(({ reason }) =>
            action === 'stash' ? reason === 'mis de côté' : /^supprimé/.test(reason),
          );
          expect(new Set(ours.map(({ pruneId }) => pruneId)).size).toBe(done.length);
          const whole = JSON.stringify(work.messages.map(textsOf));
          for (const { pruneId, startLine, endLine } of ours) {
            expect(startLine).toBe(1);
            const original = await replica.store.findOriginal(pruneId);
            if (action === 'delete') expect(original).toBeNull();
            else {
              expect(whole).toContain(JSON.stringify(original).slice(1, -1));
              expect(original?.split('\n').filter((_, i, all) => i < all.length - 1 || all[i] !== '').length).toBe(
                endLine,
              );
            }
          }
        },
      ),
      { numRuns: 12 },
    );
  });

  it('each request begins with the bytes of the previous one, in any process and after a restart', async () => {
    await fc.assert(
      fc.asyncProperty(works, works, actions, async (work, more, what) => {
        const path = join(tempFolder(), 'store.db');
        const here = new Replica({ store: openStore(path) });
        const there = new Replica({ store: openStore(path) });
        await here.send(work.messages);
        await there.send(work.messages);
        await direct(here, await segmentsOf(here), what);
        const first = (await here.send(work.messages)).body;
        expect((await there.send(work.messages)).body).toEqual(first);
        const longer = [
          ...work.messages,
          ...more.messages.slice(2).map((m) => ({ ...m, tool_call_id: m.tool_call_id && `x${m.tool_call_id}` })),
        ];
        const again = new Replica({ store: openStore(path) });
        for (const replica of [here, there, again]) {
          const { body } = await replica.send(longer);
          expect(messageBytes(body).subarray(0, messageBytes(first).length)).toEqual(messageBytes(first));
          expect((await replica.send(longer)).body).toEqual(body);
        }
        expect([...here.failures, ...there.failures, ...again.failures]).toEqual([]);
      }),
      { numRuns: 5 },
    );
  });
});

describe('a segment', () => {
  it('has the same id in every process, and a different one for another call, role or text', async () => {
    const ids = async (messages: Message[]): Promise<string[]> => {
      const replica = new Replica();
      await replica.send(messages);
      return (await segmentsOf(replica)).map(({ id }) => id);
    };
    const work = new Work();
    work.tool('bash', { command: 'a' }, 'same text');
    work.tool('bash', { command: 'a' }, 'same text');
    work.say('assistant', 'same text');
    work.say('user', 'same text');
    const all = await ids(work.messages);
    expect(new Set(all).size).toBe(5);
    expect(await ids(work.messages)).toEqual(all);
    expect(await ids([...work.messages, { role: 'user', content: 'more' }])).toEqual([
      ...all,
      expect.stringMatching(/^seg_[0-9A-Z]{12}$/),
    ]);
  });
});
