import { SegmentObserver } from '@mcp-pruner/context/observer.ts';
import { Recorder } from '@mcp-pruner/context/recorder.ts';
import { ResultKeeper } from '@mcp-pruner/recall/keeper.ts';
import { describe, expect, it, vi } from 'vitest';
import { Turns } from '../../src/core/decide/turns.ts';
import type { Observer, Seen, SeenRequestHead } from '../../src/core/ports/seen.ts';
import { always, PRUNE } from '../../src/core/request/policy.ts';
import type { ReadForObservers } from '../../src/core/request/request.ts';
import { SeenReader } from '../../src/core/seen/reader.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { allocatedBytes } from '../helpers/allocated.ts';
import { chatBody, type Message, toolTurn } from '../helpers/chat.ts';
import { manualClock, openPipeline, openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const SCOPE = { project: 'default', task: '', requestId: 'r' };
const FIND = {
  minPruneChars: 4_000,
  minOutputChars: 1_000,
  maxInputChars: 2_000_000,
  limits: { maxPruneRatio: 0.9, minKeepLines: 20 },
  neverPruneTool: () => false,
  neverPrunePath: () => false,
};

/** Most kilobytes that a body of 130 KB and of 1.3 MB may allocate if it is sent again; measured: 61 and 132. */
const KB_RESENT = 100;
const KB_RESENT_LONG = 200;

/** A conversation of 40 turns with results of 4 KB: large enough to be remembered. */
function longWork(turns = 40): Message[] {
  const work: Message[] = [{ role: 'user', content: 'Find out why the payment fails.' }];
  for (let i = 0; i < turns; i++) work.push(...toolTurn(`c${i}`, 'bash', { command: `run ${i}` }, serverLog(40, i)));
  return work;
}

/** A list that counts how often its items are read. */
function counted<Item>(list: readonly Item[], count: () => void): readonly Item[] {
  return new Proxy(list, {
    get(target, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) count();
      const value: unknown = Reflect.get(target, key);
      return value;
    },
  });
}

/** Whether a value leads to a buffer. */
function holdsBuffer(value: unknown, known = new Set<unknown>()): boolean {
  if (typeof value !== 'object' || value === null || known.has(value)) return false;
  known.add(value);
  return Buffer.isBuffer(value) || Object.values(value).some((inner) => holdsBuffer(inner, known));
}

/** All observers of a process over a store, and what they are handed. */
function observing() {
  const clock = manualClock();
  const store = openStore(':memory:', clock);
  const failures: unknown[] = [];
  const onFailure = (reason: string): void => void failures.push(reason);
  const recorder = new Recorder({ store: store.segments, clock, onFailure });
  const keeper = new ResultKeeper({
    store,
    keepsAll: true,
    clock,
    ttlMs: 80_000,
    onFailure,
  });
  const heads: SeenRequestHead[] = [];
  const seen: Seen[] = [];
  const spy: Observer = {
    newFrom(head) {
      heads.push(head);
      return head.first;
    },
    see: (part) => void seen.push(part),
  };
  const observers = [new SegmentObserver(recorder), keeper, spy];
  const reader = new SeenReader({ find: FIND, observers, turns: new Turns(), onFailure });
  const pipeline = openPipeline({ store, clock, minPruneChars: 4_000, minOutputChars: 1_000, onFailure });
  let reads = 0;
  const send = (messages: readonly Message[]) => sendBody(chatBody(messages));
  const sendBody = async (bytes: Buffer) => {
    // a part of a larger buffer, which nothing may keep
    const body = Buffer.concat([bytes, bytes]).subarray(0, bytes.length);
    const request = {
      ...{ body, dialect: openaiChat, scope: SCOPE, purpose: 'generate' as const },
      ...{ keepsResults: true, isOwned: false },
    };
    const count = (): void => void reads++;
    const onRead = ({ read, segments }: ReadForObservers): void => {
      const lists = { messages: counted(read.messages, count), prefixes: counted(read.prefixes, count) };
      reader.add({
        ...request,
        read: { ...read, ...lists },
        segments: segments && { ...segments, messages: lists.messages },
      });
    };
    await pipeline.rewrite({ ...request, onRead }, always({ ...PRUNE, history: 're-prune' }));
    reads = 0;
    body.fill(0); // the request is forwarded, and nobody needs its bytes any more
    await reader.flush();
    await recorder.flush();
    await keeper.flush();
    return { reads, parts: seen.splice(0), heads: heads.splice(0) };
  };
  return { send, sendBody, store, failures };
}

describe('observers of requests', () => {
  it('receive only new messages, without the body, and do no work that grows with the history', async () => {
    const reads: number[] = [];
    for (const turns of [40, 120]) {
      const { send, failures } = observing();
      await send(longWork(turns));
      const next = await send(longWork(turns + 1));
      expect(next.parts.flatMap(({ messages }) => messages.map(({ index }) => index))).toEqual([
        2 * turns + 1,
        2 * turns + 2,
      ]);
      expect([...next.parts, ...next.heads].some((value) => holdsBuffer(value))).toBe(false);
      expect(failures).toEqual([]);
      reads.push(next.reads);
    }
    expect(reads[1]).toBe(reads[0]);
  });

  it('do not read a body that was forwarded unparsed if no text in it is long enough to be stored', async () => {
    const scan = vi.fn(openaiChat.scan);
    const observer: Observer = { newFrom: () => 0, see: () => {} };
    const reader = new SeenReader({ find: FIND, observers: [observer], turns: new Turns(), onFailure: () => {} });
    const read = async (chars: number, purpose: SeenRequestHead['purpose'] = 'generate'): Promise<number> => {
      scan.mockClear();
      const body = chatBody([...longWork(0), ...toolTurn('c', 'bash', { command: 'run' }, 'x'.repeat(chars))]);
      const as = { scope: SCOPE, purpose, keepsResults: true, isOwned: false, read: null, segments: null };
      reader.add({ body, dialect: { ...openaiChat, scan }, ...as });
      await reader.flush();
      return scan.mock.calls.length;
    };
    expect([await read(900), await read(1_000), await read(900, 'compact')]).toEqual([0, 1, 1]);
  });

  it('and the pipeline allocate little memory for a resent body of any length', async () => {
    for (const [turns, kilobytes] of [
      [50, KB_RESENT],
      [500, KB_RESENT_LONG],
    ] as const) {
      const { sendBody } = observing();
      const body = chatBody(longWork(turns));
      for (let i = 0; i < 4; i++) await sendBody(Buffer.from(body));
      const again = Array.from({ length: 4 }, () => Buffer.from(body));
      let least = Number.POSITIVE_INFINITY; // other work of this process may allocate meanwhile
      for (let i = 0; i < 3; i++) {
        const bytes = await allocatedBytes(async () => {
          for (const one of again) await sendBody(one);
        });
        least = Math.min(least, bytes / again.length);
      }
      expect(least).toBeLessThan(kilobytes * 1024);
    }
  });

  it('record a segment and store a result for each new text, from what the pipeline decoded', async () => {
    const { send, store } = observing();
    await send(longWork(40));
    await send(longWork(41));
    const [conversation] = await store.segments.conversations('default');
    if (!conversation) throw new Error('no conversation');
    expect(await store.segments.segments(conversation, { limit: 1_000 })).toHaveLength(42);
    const query = { project: 'default', terms: new Map([['info', false]]), files: [], limit: 1_000 };
    const { candidates } = await store.recall.find(query);
    expect(candidates).toHaveLength(41);
    const [last] = candidates.toSorted((a, b) => b.row - a.row);
    const newest = await store.recall.texts([last?.pruneId ?? '']);
    expect([...newest.values()]).toEqual([serverLog(40, 40)]);
  });
});
