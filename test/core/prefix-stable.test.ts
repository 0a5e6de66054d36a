import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../helpers/afterwards.ts';
import { chatBody, contentAt, messageBytes, messagesOf, oneResult, toolTurn } from '../helpers/chat.ts';
import { agentConversation, withMovingMark, withoutMarks } from '../helpers/conversation.ts';
import {
  type ChatRewriter,
  manualClock,
  openPruner,
  openRewriter,
  openStore,
  TTL_MS,
  verdicts,
} from '../helpers/rewriter.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';

const { messages, ends } = agentConversation(14);

/** The requests of a conversation, one for each turn. */
const requests = ends.map((end) => messages.slice(0, end));

/** What became of the whole conversation in a rewriter that saw it turn by turn. */
const steady = await (async () => {
  const store = openStore();
  const rewriter = openRewriter({ store });
  const bodies: Buffer[] = [];
  for (const request of requests) bodies.push((await rewriter.rewrite(chatBody(request))).body);
  await store.close();
  return bodies;
})();

describe('each forwarded request', () => {
  it('begins with the messages of the previous one, byte for byte, and is much smaller than the client’s', () => {
    steady.forEach((body, turn) => {
      const before = steady[turn - 1];
      if (before) expect(body.subarray(0, messageBytes(before).length).equals(messageBytes(before))).toBe(true);
    });
    expect(steady.at(-1)?.length).toBeLessThan(chatBody(messages).length * 0.6);
  });

  const places: Record<string, (turn: number, path: string, last: ChatRewriter) => ChatRewriter> = {
    'a rewriter that has just started on the same store': (_turn, path) => openRewriter({ store: openStore(path) }),
    'a rewriter whose store was lost, where the past is to be cut anew': () =>
      openRewriter({ store: openStore(), history: 're-prune' }),
    'one that restarts every few turns': (turn, path, last) =>
      turn % 3 === 2 ? openRewriter({ store: openStore(path) }) : last,
    'one that loses its store every few turns': (turn, _path, last) =>
      turn % 3 === 2 ? openRewriter({ store: openStore(), history: 're-prune' }) : last,
  };

  it.each(Object.entries(places))('has the same bytes from %s', async (_name, next) => {
    const path = join(tempFolder(), 'store.db');
    let rewriter = openRewriter({ store: openStore(path) });
    for (const [turn, request] of requests.entries()) {
      rewriter = next(turn, path, rewriter);
      expect((await rewriter.rewrite(chatBody(request))).body.equals(steady[turn] ?? Buffer.alloc(0))).toBe(true);
    }
  });

  it('has the same bytes from two alternating replicas on one file', async () => {
    const path = join(tempFolder(), 'store.db');
    const replicas = [openRewriter({ store: openStore(path) }), openRewriter({ store: openStore(path) })];
    for (const [turn, request] of requests.entries()) {
      const body = (await replicas[turn % 2]?.rewrite(chatBody(request)))?.body;
      expect(body?.equals(steady[turn] ?? Buffer.alloc(0))).toBe(true);
    }
  });

  it('has the same contents when the client moves its cache breakpoints', async () => {
    const rewriter = openRewriter();
    for (const [turn, request] of requests.entries()) {
      const { body } = await rewriter.rewrite(chatBody(withMovingMark(request)));
      expect(withoutMarks(messagesOf(body))).toEqual(messagesOf(steady[turn] ?? Buffer.alloc(0)));
    }
  });

  it('has the same messages, no matter which other fields the client sends', async () => {
    const rewriter = openRewriter({ history: 're-prune' });
    const last = steady.at(-1) ?? Buffer.alloc(0);
    for (const more of [{ temperature: 0 }, { tools: [{ type: 'function' }] }, { stream: true, stream_options: {} }]) {
      expect(messagesOf((await rewriter.rewrite(chatBody(messages, more))).body)).toEqual(messagesOf(last));
    }
  });

  it('has the same bytes when retries, branches and other conversations come in between, in any order', async () => {
    const rewriter = openRewriter({ history: 're-prune' });
    const other = agentConversation(6);
    const otherMessages = other.messages.map((message, i) =>
      i === 1 ? { role: 'user', content: 'Something else.' } : message,
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(requests.length - 1), fc.boolean(), fc.nat(5)), { minLength: 1, maxLength: 8 }),
        async (steps) => {
          for (const [turn, elsewhere, otherTurn] of steps) {
            if (elsewhere) await rewriter.rewrite(chatBody(otherMessages.slice(0, other.ends[otherTurn])));
            const branch = [...(requests[turn] ?? []), { role: 'user', content: `Branch ${otherTurn}: what else?` }];
            await rewriter.rewrite(chatBody(branch));
            const { body } = await rewriter.rewrite(chatBody(requests[turn] ?? []));
            expect(body.equals(steady[turn] ?? Buffer.alloc(0))).toBe(true);
          }
        },
      ),
      { numRuns: 15 },
    );
  });

  it('has the same bytes at any time, even as every expiry passes in between', async () => {
    const clock = manualClock();
    const store = openStore(join(tempFolder(), 'store.db'), clock);
    const rewriter = openRewriter({ store, clock });
    for (const [turn, request] of requests.entries()) {
      clock.now += turn === 9 ? -5_000_000 : turn % 4 === 3 ? TTL_MS * 2 : TTL_MS / 10;
      while (await store.sweep());
      expect((await rewriter.rewrite(chatBody(request))).body.equals(steady[turn] ?? Buffer.alloc(0))).toBe(true);
    }
  });
});

describe('a decision once made', () => {
  const log = serverLog(200);

  it('stays the same if the whole text is recovered later', async () => {
    const path = join(tempFolder(), 'store.db');
    const store = openStore(path);
    // The last line without its end, so that the recovered text is the original unit for unit.
    const text = log.trimEnd();
    const before = await openRewriter({ store }).rewrite(chatBody(oneResult(text)));
    expect(verdicts(before)).toEqual(['cut']);
    const pruner = openPruner(store);
    const whole = await pruner.recover({
      pruneId: before.outcomes[0]?.pruneId ?? '',
      ranges: [{ startLine: 1, endLine: 200 }],
      numbered: false,
    });
    expect(whole).toBe(text);
    const after = await openRewriter({ store: openStore(path) }).rewrite(chatBody(oneResult(text)));
    expect(after.body.equals(before.body)).toBe(true);
  });

  it('stays the same if an id that the text names becomes known later', async () => {
    const other = await openRewriter().rewrite(
      chatBody(oneResult(sourceFile(40), { tool: 'read', args: { path: 'a.ts' } })),
    );
    const marked = `${log}⟦PRUNÉ: prune_id=${other.outcomes[0]?.pruneId} lignes 1-2 (2) raison=x⟧\n`;
    const path = join(tempFolder(), 'store.db');
    const before = await openRewriter({ store: openStore(path) }).rewrite(chatBody(oneResult(marked)));
    expect(verdicts(before)).toEqual(['cut']);
    const later = openRewriter({ store: openStore(path) });
    await later.rewrite(chatBody(oneResult(sourceFile(40), { tool: 'read', args: { path: 'a.ts' } })));
    const after = await openRewriter({ store: openStore(path) }).rewrite(chatBody(oneResult(marked)));
    expect(after.body.equals(before.body)).toBe(true);
  });

  it('to leave a text whole because of its markers lasts, like the originals, while requests contain them', async () => {
    const clock = manualClock();
    const store = openStore(join(tempFolder(), 'store.db'), clock);
    const first = await openRewriter({ store, clock }).rewrite(chatBody(oneResult(log)));
    const marked = `${serverLog(200, 5)}${contentAt(first.body, -1)}`;
    const request = chatBody(oneResult(marked, { args: { command: 'cat notes' } }));
    for (let i = 0; i < 12; i++) {
      const rewriter = openRewriter({ store, clock });
      for (const when of [0, TTL_MS / 20]) {
        clock.now += when;
        const again = await rewriter.rewrite(request);
        expect(verdicts(again)).toEqual([i === 0 ? 'carries_markers' : 'past']); // a record says so from then on
        expect(again.body.equals(request)).toBe(true);
      }
      clock.now += TTL_MS / 2;
      while (await store.sweep());
      expect(await store.findOriginal(first.outcomes[0]?.pruneId ?? '')).toBe(log);
    }
  });

  it('to leave a text whole also applies if only the arguments of its call differ', async () => {
    const path = join(tempFolder(), 'store.db');
    const rewriter = openRewriter({ store: openStore(path) });
    const bodyWith = (command: string): Buffer =>
      chatBody([...oneResult(log, { id: 'a' }), ...toolTurn('b', 'bash', { command }, log)]);
    const repeated = bodyWith('npm start');
    // arguments stand for nothing in the records: clients spell them anew
    const other = bodyWith('npm test');
    await rewriter.rewrite(chatBody(oneResult(log, { id: 'a' })));
    const first = await rewriter.rewrite(repeated);
    expect(verdicts(first)).toEqual(['cut', 'reread']);
    const between = await rewriter.rewrite(other);
    expect(contentAt(between.body, -1)).toBe(log);
    for (const again of [rewriter, openRewriter({ store: openStore(path) })]) {
      expect((await again.rewrite(repeated)).body.equals(first.body)).toBe(true);
    }
  });
});
