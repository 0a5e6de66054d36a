import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../helpers/afterwards.ts';
import { chatBody, contentAt, messageBytes, messagesOf } from '../helpers/chat.ts';
import { agentConversation, withMovingMark, withoutMarks } from '../helpers/conversation.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { markersIn } from '../helpers/markers.ts';
import { startProxy } from '../helpers/proxy.ts';
import { manualClock } from '../helpers/rewriter.ts';

const TURNS = 40;
const { messages, ends } = agentConversation(TURNS);
const requests = ends.map((end) => messages.slice(0, end));

/** All texts of a message. */
function textsOf(content: unknown): string[] {
  if (typeof content === 'string') return [content];
  return Array.isArray(content) ? content.flatMap(({ text }: { text?: string }) => text ?? []) : [];
}

describe('a conversation of forty turns with a new question every ten', () => {
  it('is forwarded with a stable prefix across a restart, and with half of its tool tokens removed', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    for (const [turn, request] of requests.entries()) {
      if (turn === TURNS / 2) await proxy.restart();
      expect((await proxy.chat(chatBody(request))).status).toBe(200);
    }
    const sent = upstream.requests.map(({ body }) => body);
    for (let turn = 1; turn < TURNS; turn++) {
      const before = messageBytes(sent[turn - 1] ?? Buffer.alloc(0));
      expect([turn, sent[turn]?.subarray(0, before.length).equals(before)]).toEqual([turn, true]);
    }
    const line = (await proxy.requestLines(TURNS)).at(-1);
    const [before, after] = [Number(line?.tokensBefore), Number(line?.tokensAfter)];
    expect(before).toBeGreaterThan(50_000);
    expect(after).toBeLessThan(before / 2);

    // And not one line of it is lost.
    const last = messagesOf(sent.at(-1) ?? Buffer.alloc(0));
    const markers = last.flatMap(({ content }) =>
      textsOf(content).flatMap((text) => markersIn(text.replaceAll('\\n', '\n'))),
    );
    expect(markers.length).toBeGreaterThan(20);
    const oneOfEach = new Map(markers.map((marker) => [marker.pruneId, marker]));
    for (const { pruneId, startLine, endLine } of oneOfEach.values()) {
      expect((await proxy.recover(pruneId, startLine, endLine)).split('\n')).toHaveLength(endLine - startLine + 1);
    }
  });

  it('is forwarded identically by a replica with another store, and with moved cache breakpoints', async () => {
    const path = join(tempFolder(), 'store.db');
    const upstream = await startUpstream();
    const [first, second, stranger] = await Promise.all([
      startProxy(upstream, { dbPath: path }),
      startProxy(upstream, { dbPath: path }),
      startProxy(upstream),
    ]);
    const some = [0, 1, 2, 7, 8, 16, 17, 25, 33, 39];
    for (const [i, turn] of some.entries()) {
      const request = requests[turn] ?? [];
      const plain = chatBody(request);
      await (await (i % 2 === 0 ? first : second).chat(plain)).text();
      await (await stranger.chat(plain)).text();
      await (await (i % 2 === 0 ? second : first).chat(chatBody(withMovingMark(request)))).text();
      const [one, other, marked] = upstream.requests.slice(-3).map(({ body }) => body);
      expect([turn, one?.equals(other ?? Buffer.alloc(0))]).toEqual([turn, true]);
      expect(withoutMarks(messagesOf(marked ?? Buffer.alloc(0)))).toEqual(messagesOf(one ?? Buffer.alloc(0)));
    }
  });

  it.each(['0', '3', '70001'])('is forwarded identically with %s bytes for the memo', async (bytes) => {
    const upstream = await startUpstream();
    const plenty = await startProxy(upstream);
    const little = await startProxy(upstream, { env: { MCP_PRUNER_MEMO_MAX_BYTES: bytes } });
    for (const turn of [3, 4, 5, 12]) {
      const body = chatBody(requests[turn] ?? []);
      await (await plenty.chat(body)).text();
      await (await little.chat(body)).text();
      const [one, other] = upstream.requests.slice(-2);
      expect(one?.body.equals(other?.body ?? Buffer.alloc(0))).toBe(true);
      expect(one?.body.includes('prune_id=')).toBe(true);
    }
  });

  it('is forwarded identically when the clock jumps, and every cut can still be recovered', async () => {
    const clock = manualClock(Date.parse('2026-06-01T00:00:00Z'));
    const upstream = await startUpstream();
    const steady = await startProxy(upstream);
    const proxy = await startProxy(upstream, { clock });
    const day = 86_400_000;
    for (const [i, jump] of [0, -day, 3 * day, -400 * day, 30_000 * day, 1].entries()) {
      clock.now += jump;
      const body = chatBody(requests[i] ?? []);
      await (await steady.chat(body)).text();
      await (await proxy.chat(body)).text();
      const [one, other] = upstream.requests.slice(-2);
      expect([i, one?.body.equals(other?.body ?? Buffer.alloc(0))]).toEqual([i, true]);
      for (const { pruneId } of markersIn(contentAt(other?.body ?? Buffer.alloc(0), 3))) {
        expect(await proxy.recover(pruneId, 1, 1)).not.toBe('');
      }
    }
  });

  it('is forwarded identically when it is sent many times at once', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const body = chatBody(requests[12] ?? []);
    await Promise.all(Array.from({ length: 20 }, async () => (await proxy.chat(body)).text()));
    expect(new Set(upstream.requests.map((request) => request.body.toString('latin1'))).size).toBe(1);
    expect(upstream.last.body.includes('prune_id=')).toBe(true);
  });
});
