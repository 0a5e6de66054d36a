import { openPostgresStore } from '@mcp-pruner/team/postgres/store.ts';
import { isFailed } from 'mcp-pruner/base/failed-result.ts';
import { keyOf, textHash } from 'mcp-pruner/core/hash.ts';
import { keptId } from 'mcp-pruner/core/kept-text.ts';
import type { HeadSums } from 'mcp-pruner/core/ports/segments.ts';
import { checksumsOf } from 'mcp-pruner/core/request/head-sums.ts';
import type { RewrittenRequest } from 'mcp-pruner/core/request/rewritten.ts';
import { givenOutMark } from 'mcp-pruner/core/result-marks.ts';
import { messageSegmentId, stashId } from 'mcp-pruner/core/segments/text-segments.ts';
import { parseMarker } from 'mcp-pruner/engine/text/marker.ts';
import { openaiChat } from 'mcp-pruner/wires/dialects/openai-chat/dialect.ts';
import { describe, expect, it } from 'vitest';
import { afterwards } from '../../../test/helpers/afterwards.ts';
import { type Message, messageBytes, messagesOf } from '../../../test/helpers/chat.ts';
import { markersIn } from '../../../test/helpers/markers.ts';
import { hasPostgres, sharedDatabase } from '../../../test/helpers/postgres.ts';
import { manualClock, openStore, TTL_MS } from '../../../test/helpers/rewriter.ts';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { Replica, type ReplicaParts, Work } from './session.ts';

const MINUTE = 60_000;
const database = sharedDatabase();

const NO_USAGE = { input: null, output: null, read: null, written: null, written1h: null };

type AnswerFacts = Partial<Parameters<Replica['answers']['note']>[0]>;

/** A process whose answers end the moment they begin. */
class Session {
  readonly replica: Replica;
  readonly work = new Work();

  constructor(parts: ReplicaParts = {}) {
    this.replica = new Replica({ cold: 'on', minPruneChars: 1e9, ...parts });
  }

  /** Sends the conversation and receives an answer. */
  async send(facts: AnswerFacts = {}) {
    const { replica, work } = this;
    const { model, tools, system, summary } = facts;
    replica.sentHead = JSON.parse(JSON.stringify({ model, tools, system, summary })) as Partial<HeadSums>;
    const rewritten = await replica.send(work.messages);
    this.answer(rewritten, facts);
    return rewritten;
  }

  answer(rewritten: RewrittenRequest, facts: AnswerFacts = {}): void {
    const { clock, answers } = this.replica;
    const { conversationId, model } = rewritten;
    const head = {
      project: 'default',
      conversationId,
      wire: 'chat',
      model,
      cacheUpTo: null,
      ...checksumsOf(rewritten),
    };
    answers.note({ ...head, ...facts }, clock.now, false);
  }

  /** Reads so many files, each once, some 850 tokens each. */
  read(files: number, from = 0): this {
    for (let i = from; i < from + files; i++) {
      this.work.tool('read_file', { path: `src/part${i}.ts` }, sourceFile(7, i), `Now part ${i}.`);
    }
    return this;
  }

  pause(minutes: number): this {
    this.replica.clock.now += minutes * MINUTE;
    return this;
  }
}

/** Indices of the messages of which only a marker is left. */
function aside({ body }: RewrittenRequest): number[] {
  return messagesOf(body).flatMap(({ content }, i) =>
    typeof content === 'string' && parseMarker(content.trimEnd())?.reason === 'mis de côté' ? [i] : [],
  );
}

const contentOf = (messages: readonly Message[], index: number): string => String(messages[index]?.content);

describe('a conversation that continues after its cache has expired', () => {
  it('has its old results stashed once, and each later request begins with the previous one', async () => {
    const session = new Session().read(14);
    const { replica, work } = session;
    expect(aside(await session.send())).toEqual([]);
    const cold = await session.pause(31).send();
    const gone = aside(cold);
    // results are every other message, and the newest twelve messages stay
    expect(Math.max(...gone)).toBe(work.messages.length - 13);
    expect(replica.steps).toMatchObject([{ by: 'cold', why: 'pause', segments: gone.length }]);
    let last = messageBytes(cold.body);
    for (let turn = 0; turn < 3; turn++) {
      const { body } = await session
        .read(1, 20 + turn)
        .pause(1)
        .send();
      expect(messageBytes(body).subarray(0, last.length).equals(last)).toBe(true);
      last = messageBytes(body);
    }
    expect(replica.steps).toHaveLength(1);
    expect(replica.failures).toEqual([]);
  });

  it('can have every result recovered, and is sent with the same bytes by another process', async () => {
    const [clock, store] = [manualClock(), openStore()];
    const session = new Session({ clock, store }).read(14);
    await session.send();
    const cold = await session.pause(31).send();
    const sent = messagesOf(cold.body);
    for (const index of aside(cold)) {
      const [marker] = markersIn(contentOf(sent, index));
      expect(await store.findOriginal(marker?.pruneId ?? '')).toBe(contentOf(session.work.messages, index));
    }
    const other = await new Replica({ cold: 'on', minPruneChars: 1e9, clock, store }).send(session.work.messages);
    expect(other.body.equals(cold.body)).toBe(true);
  });

  it.each<[string, string, object, string, number]>([
    ['a file that was whole', 'read_file', { path: 'src/big.ts' }, sourceFile(40, 1), 1e9],
    ['a file whose lines were cut', 'read_file', { path: 'src/big.ts' }, sourceFile(300, 2), 4_000],
    ['a log that was whole', 'bash', { command: 'npm start' }, serverLog(60), 1e9],
    ['a log whose lines were cut', 'bash', { command: 'npm start' }, serverLog(400), 4_000],
    [
      'a search that was whole',
      'grep',
      { pattern: 'x' },
      Array.from({ length: 80 }, (_, i) => `src/a.ts:${i}:x${i}`).join('\n'),
      1e9,
    ],
  ])(
    'names in its marker the id under which a search finds the result: %s',
    async (_, tool, args, text, minPruneChars) => {
      const session = new Session({ minPruneChars });
      session.work.tool(tool, args, text, 'First this.');
      const index = session.work.messages.length - 1;
      const [earlier] = markersIn(contentOf(messagesOf((await session.send()).body), index));
      expect(earlier !== undefined).toBe(minPruneChars < 1e9);
      session.read(14);
      await session.send();
      const cold = await session.pause(31).send();
      expect(aside(cold)).toContain(index);
      const [marker] = markersIn(contentOf(messagesOf(cold.body), index));
      expect(marker?.pruneId).toBe(earlier?.pruneId ?? keptId(textHash(text)));
      expect(await session.replica.store.findOriginal(marker?.pruneId ?? '')).toBe(text);
    },
  );

  it('keeps the marker that an earlier version stored', async () => {
    const [clock, store] = [manualClock(), openStore()];
    const session = new Session({ clock, store }).read(14);
    await session.send();
    const cold = await session.pause(31).send();
    const index = aside(cold)[0] ?? -1;
    const text = contentOf(session.work.messages, index);
    const id = messageSegmentId('tool', String(session.work.messages[index]?.tool_call_id), textHash(text));
    const key = keyOf('aside', 'default', id);
    const stored = (await store.findDecisions([key])).get(key);
    expect(stored).toBeDefined();
    // a store in which the decision has the id of that version
    const other = openStore();
    const pruneId = stashId('default', id);
    if (stored) await other.commit({ decisions: [{ decision: { ...stored, pruneId }, text }], touch: [] }, 0);
    const later = new Session({ clock, store: other });
    later.work.messages.splice(0, later.work.messages.length, ...session.work.messages);
    clock.now -= 31 * MINUTE;
    await later.send();
    const sent = await later.pause(31).send();
    const [marker] = markersIn(contentOf(messagesOf(sent.body), index));
    expect(marker?.pruneId).toBe(pruneId);
  });

  it.skipIf(!hasPostgres)('gets one decision for all replicas, even if two decide at once', async () => {
    const clock = manualClock();
    const url = await database();
    const opened = async () => {
      const store = openPostgresStore({ url, clock, ttlMs: TTL_MS, maxBytes: 1e9, maxEvents: 1_000 });
      afterwards(() => store.close());
      await store.ready();
      return store;
    };
    const session = new Session({ clock, store: await opened() }).read(14);
    const { messages } = session.work;
    const { conversationId } = await session.send();
    const one = session.replica;
    await one.store.ledger.add([turnOf(conversationId, clock.now)], []);
    const parts = { cold: 'on', minPruneChars: 1e9, clock } as const;
    const two = new Replica({ ...parts, store: await opened() });
    const three = new Replica({ ...parts, store: await opened() });
    clock.now += 31 * MINUTE;
    const [first, same] = await Promise.all([one.send(messages), two.send(messages)]);
    expect(aside(first).length).toBeGreaterThan(5);
    expect(same.body.equals(first.body)).toBe(true);
    expect((await three.send(messages)).body.equals(first.body)).toBe(true);
    expect(three.steps).toEqual([]);
    clock.now += MINUTE;
    const last = messageBytes(first.body);
    for (const other of [three, two, one]) {
      const { body } = await other.send([...messages, { role: 'user', content: 'Go on.' }]);
      expect(messageBytes(body).subarray(0, last.length).equals(last)).toBe(true);
    }
    expect([one, two, three].flatMap(({ failures }) => failures)).toEqual([]);
  });

  it('has a longer clock once a longer pause was warm for its model, and a cold cache does not shorten it', async () => {
    const usage = (input: number, read: number) => ({ usage: { ...NO_USAGE, input, read } });
    const one = new Session().read(14);
    await one.send();
    one.pause(29);
    await one.send(usage(10_000, 9_000));
    one.pause(5);
    await one.send(usage(10_000, 100));
    expect(aside(await one.pause(38).send())).toEqual([]);
    expect(aside(await one.pause(40).send()).length).toBeGreaterThan(5);
    const cold = new Session().read(14);
    await cold.send();
    cold.pause(29);
    await cold.send(usage(10_000, 5_000));
    expect(aside(await cold.pause(31).send()).length).toBeGreaterThan(5);
    const late = new Session().read(14);
    await late.send();
    for (const minutes of [29, 38, 47, 56]) await late.pause(minutes).send(usage(10_000, 9_000));
    expect(aside(await late.pause(60).send())).toEqual([]);
    expect(aside(await late.pause(61).send()).length).toBeGreaterThan(5);
  });

  it('stays whole if cold stashing is switched off', async () => {
    const session = new Session({ cold: 'off' }).read(14);
    const first = await session.send();
    expect((await session.pause(31).send()).body.equals(first.body)).toBe(true);
    expect([session.replica.steps, session.replica.sums]).toEqual([[], []]);
  });

  it('is checked again after a request that was in time but got no answer', async () => {
    const [clock, store] = [manualClock(), openStore()];
    const before = new Session({ clock, store }).read(14);
    const { conversationId } = await before.send();
    await store.ledger.add([turnOf(conversationId, clock.now)], []);
    const after = new Replica({ cold: 'on', minPruneChars: 1e9, clock, store });
    expect(aside(await after.send(before.work.messages))).toEqual([]);
    clock.now += 31 * MINUTE;
    expect(aside(await after.send(before.work.messages)).length).toBeGreaterThan(5);
  });

  it('has its last answer read from the ledger after a restart', async () => {
    const [clock, store] = [manualClock(), openStore()];
    const before = new Session({ clock, store }).read(14);
    const { conversationId } = await before.send();
    await store.ledger.add([turnOf(conversationId, clock.now)], []);
    clock.now += 31 * MINUTE;
    const after = new Replica({ cold: 'on', minPruneChars: 1e9, clock, store });
    expect(aside(await after.send(before.work.messages)).length).toBeGreaterThan(5);
    expect(after.steps).toMatchObject([{ why: 'pause' }]);
  });

  it.each([
    ['an hour and five minutes if it was written for an hour', {}, 64, 66],
    ['for ever if the upstream is on this machine', { isLocal: true }, 64, 0],
  ])('has, after a restart, a cache that lives %s', async (_, parts, warm, cold) => {
    const sentAfter = async (minutes: number): Promise<number[]> => {
      const [clock, store] = [manualClock(), openStore()];
      const before = new Session({ clock, store }).read(14);
      const { conversationId } = await before.send();
      const turn = { ...turnOf(conversationId, clock.now), wire: 'messages', write1h: 5_000 };
      await store.ledger.add([turn], []);
      clock.now = turn.atMs + minutes * MINUTE;
      const after = new Replica({ cold: 'on', minPruneChars: 1e9, clock, store, ...parts });
      return aside(await after.send(before.work.messages));
    };
    expect(await sentAfter(warm)).toEqual([]);
    if (cold > 0) expect((await sentAfter(cold)).length).toBeGreaterThan(5);
    else expect(await sentAfter(10_000)).toEqual([]);
  });

  it.each([
    ['30 minutes on wires without breakpoints', {}, 29, 31],
    ['6 minutes after a breakpoint of five', { wire: 'messages', cacheUpTo: 3 }, 5, 7],
    ['65 minutes after a breakpoint of an hour', { wire: 'messages', cacheUpTo: 3, cacheHourUpTo: 3 }, 64, 66],
    ['30 minutes without any breakpoint', { wire: 'messages' }, 29, 31],
    ['12 h 5 min if the client asked for 12 hours', { retentionHours: 12 }, 724, 726],
  ])('waits for %s', async (_, facts, warm, cold) => {
    const session = new Session().read(14);
    await session.send(facts);
    expect(aside(await session.pause(warm).send(facts))).toEqual([]);
    expect(aside(await session.pause(cold).send(facts)).length).toBeGreaterThan(5);
  });

  it('stashes no results if the upstream caches prefixes without a fixed lifetime', async () => {
    const session = new Session().read(14);
    const first = await session.replica.send(session.work.messages);
    const facts = { project: 'default', conversationId: first.conversationId, wire: 'chat', model: first.model };
    session.replica.answers.note({ ...facts, ...checksumsOf(first), cacheUpTo: null }, session.replica.clock.now, true);
    expect(aside(await session.pause(10_000).send())).toEqual([]);
  });

  it('has the checksums of a body computed only once, also for the ledger', async () => {
    const session = new Session().read(14);
    const rewritten = await session.replica.send(session.work.messages);
    const sums = checksumsOf(rewritten);
    rewritten.received.fill(0x20);
    expect(checksumsOf(rewritten)).toBe(sums);
  });

  it("keeps the user's own long texts, however old they are", async () => {
    const session = new Session();
    const own = session.work.say('user', sourceFile(40, 99));
    session.work.say('assistant', 'Understood.');
    session.read(14);
    await session.send();
    const gone = aside(await session.pause(31).send());
    expect(gone.length).toBeGreaterThan(5);
    expect(gone).not.toContain(own);
    expect(session.replica.steps).toMatchObject([{ segments: gone.length }]);
    expect(contentOf(messagesOf((await session.send()).body), own)).toBe(contentOf(session.work.messages, own));
  });

  it('keeps all results if every message is among the newest, however large they are', async () => {
    const session = new Session();
    for (let i = 0; i < 5; i++) {
      session.work.tool('read_file', { path: `src/large${i}.ts` }, sourceFile(40, i), `Now large ${i}.`);
    }
    expect(session.work.messages).toHaveLength(12);
    await session.send();
    expect(aside(await session.pause(31).send())).toEqual([]);
    session.work.tool('read_file', { path: 'src/large5.ts' }, sourceFile(40, 5), 'Now large 5.');
    session.work.tool('read_file', { path: 'src/large6.ts' }, sourceFile(40, 6), 'Now large 6.');
    await session.send();
    expect(Math.max(...aside(await session.pause(31).send()))).toBe(session.work.messages.length - 13);
  });

  it('has command outputs stashed, except in the newest twelve messages', async () => {
    const session = new Session();
    for (let i = 0; i < 14; i++) session.work.tool('bash', { command: `make ${i}` }, sourceFile(7, i));
    await session.send();
    expect(Math.max(...aside(await session.pause(31).send()))).toBe(session.work.messages.length - 13);
  });

  it.each(['on', 'measure'] as const)('has results stashed that another one has read: %s', async (cold) => {
    const clock = manualClock();
    const store = openStore(':memory:', clock, 1_000 * MINUTE);
    const counted = [];
    for (const question of ['Why does the checkout fail?', 'Why is the mailer slow?']) {
      const session = new Session({ cold, clock, store, minPruneChars: 1_000 });
      session.work.messages[1] = { role: 'user', content: question };
      session.work.tool('bash', { command: `echo ${question}` }, question);
      if (counted.length > 0) session.work.idle(2); // calls have other ids
      session.work.tool('bash', { command: 'npm start' }, serverLog(300, 1));
      session.read(14);
      await session.send();
      await session.pause(31).send();
      const { conversations, results } = session.replica.sums[0]?.fields ?? {};
      counted.push({ conversations, results });
    }
    expect(counted[0]).toEqual({ conversations: 1, results: 9 });
    expect(counted[1]).toEqual(counted[0]);
  });

  it('stashes no results below 3,000 tokens', async () => {
    const session = new Session().read(9);
    await session.send();
    expect(aside(await session.pause(31).send())).toEqual([]);
  });

  it('has each pause checked only once, even if the request is repeated', async () => {
    const session = new Session().read(14);
    await session.send();
    session.pause(31);
    const first = await session.replica.send(session.work.messages);
    const again = await session.replica.send(session.work.messages);
    expect(again.body.equals(first.body)).toBe(true);
    expect(session.replica.steps).toHaveLength(1);
  });
});

describe('a change', () => {
  it.each(['model', 'tools', 'system'])('of the %s is a cold moment, because it clears the cache', async (why) => {
    const session = new Session().read(14);
    await session.send({ [why]: 'another' });
    expect(aside(await session.send()).length).toBeGreaterThan(5);
    expect(session.replica.steps).toMatchObject([{ why }]);
  });

  it('of the model is not assumed if an answer names a model that its request did not name', async () => {
    const session = new Session().read(14);
    const main = await session.send({ model: 'llama-4' });
    const unnamed: typeof openaiChat = { ...openaiChat, scan: (...of) => ({ ...openaiChat.scan(...of), model: '' }) };
    const again = await session.replica.send(session.work.messages, {}, unnamed);
    expect(again.body.equals(main.body)).toBe(true);
    expect(session.replica.steps).toEqual([]);
  });

  it('of the instructions is not assumed if a request continues a stored answer: they may stand before it', async () => {
    const session = new Session().read(14);
    await session.send({ system: 'another' });
    const continued: typeof openaiChat = {
      ...openaiChat,
      scan: (...of) => ({ ...openaiChat.scan(...of), previous: 'resp_1' }),
    };
    expect(aside(await session.replica.send(session.work.messages, {}, continued))).toEqual([]);
    expect(session.replica.steps).toEqual([]);
    expect(aside(await session.send()).length).toBeGreaterThan(5);
  });
});

describe('a compaction by the client', () => {
  const summary = 'This session is being continued from a previous conversation that ran out of context.';

  it('counts as a cold moment for the results that the client kept', async () => {
    const session = new Session();
    session.work.messages[1] = { role: 'user', content: summary };
    const first = await session.read(14).send();
    expect(aside(first).length).toBeGreaterThan(5);
    expect(session.replica.steps).toMatchObject([{ why: 'compaction' }]);
    expect((await session.send()).body.equals(first.body)).toBe(true);
  });

  it('is also a cold moment if the conversation keeps its id, but not again at the next request', async () => {
    const session = new Session();
    session.work.messages[1] = { role: 'user', content: summary };
    await session.send({ summary: 'of an earlier compaction' });
    const first = await session.read(14).send();
    expect(aside(first).length).toBeGreaterThan(5);
    expect((await session.send()).body.equals(first.body)).toBe(true);
    expect(session.replica.steps).toMatchObject([{ why: 'compaction' }]);
  });

  it('leaves the request for the summary itself unchanged', async () => {
    const session = new Session().read(14);
    await session.send();
    session.work.say('user', 'Your task is to create a detailed summary of the conversation so far.');
    expect(aside(await session.pause(31).send())).toEqual([]);
  });
});

describe('a side request with another model', () => {
  it('leaves the cache of the main conversation warm, so that no results are stashed', async () => {
    const session = new Session().read(14);
    const main = await session.send();
    session.answer(main, { model: 'a-small-model' });
    expect((await session.send()).body.equals(main.body)).toBe(true);
    expect(session.replica.steps).toEqual([]);
  });

  it('leaves that cache warm even as the first request after a restart', async () => {
    const [clock, store] = [manualClock(), openStore()];
    const before = new Session({ clock, store }).read(14);
    const main = await before.send();
    await store.ledger.add([turnOf(main.conversationId, clock.now)], []);
    const after = new Session({ clock, store }).read(14).pause(1);
    after.answer(main, { model: 'a-small-model' });
    expect((await after.send()).body.equals(main.body)).toBe(true);
    expect(after.replica.steps).toEqual([]);
  });
});

describe('an answer that another process received', () => {
  it('keeps the cache warm', async () => {
    const [clock, store] = [manualClock(), openStore()];
    const session = new Session({ clock, store }).read(14);
    const main = await session.send();
    session.pause(25);
    await store.ledger.add([turnOf(main.conversationId, clock.now)], []);
    expect((await session.pause(25).send()).body.equals(main.body)).toBe(true);
    expect(session.replica.steps).toEqual([]);
  });
});

describe('a turn that the ledger does not know yet', () => {
  const summary = 'This session is being continued from a previous conversation that ran out of context.';

  it.each<[string, (session: Session) => Promise<void>]>([
    [
      'of a conversation that a summary opened',
      async ({ work }) => {
        work.messages[1] = { role: 'user', content: summary };
      },
    ],
    [
      'after a pause',
      async (session) => {
        const { conversationId } = await session.replica.send(session.work.messages);
        await session.replica.store.ledger.add([turnOf(conversationId, session.replica.clock.now)], []);
        session.pause(31);
      },
    ],
    [
      'after a change of the model',
      async ({ work, replica }) => {
        const { conversationId } = await replica.send(work.messages);
        await replica.store.ledger.add([{ ...turnOf(conversationId, replica.clock.now), model: 'another' }], []);
      },
    ],
  ])('%s keeps the cache warm for the next one on another process', async (_, begin) => {
    const [clock, store] = [manualClock(), openStore()];
    const session = new Session({ clock, store });
    await begin(session);
    session.work.tool('read_file', { path: 'src/large.ts' }, sourceFile(40, 99), 'Now the large one.');
    const { body } = await session.read(4).replica.send(session.work.messages);
    const sent = messageBytes(body);
    clock.now += 4_000; // its process was killed, or writes its ledger later
    const other = new Replica({ cold: 'on', minPruneChars: 1e9, clock, store });
    const next = await other.send(session.read(2, 4).work.messages);
    expect(messageBytes(next.body).subarray(0, sent.length).equals(sent)).toBe(true);
    expect(other.steps).toEqual([]);
    clock.now += 31 * MINUTE;
    expect(aside(await other.send(session.work.messages))).toEqual([3]);
  });
});

describe('the results that stay when others are stashed', () => {
  it('are those that the work still needs', async () => {
    const session = new Session({ neverPruneTool: (name) => name === 'keep_me' });
    const { work, replica } = session;
    const log = (seed: number): string => serverLog(20, seed);
    const reread = work.tool('read_file', { path: 'src/edited.ts' }, sourceFile(7, 1));
    work.tool('edit_file', { path: 'src/edited.ts', old_string: 'a', new_string: 'b' }, 'Edited.');
    const edited = work.tool('read_file', { path: 'src/edited.ts' }, sourceFile(7, 2));
    const named = work.tool('read_file', { path: 'src/named.ts' }, sourceFile(7, 3));
    const failed = work.tool('bash', { command: 'make' }, `${log(4)}\nProcess exited with code 2`);
    const protectedText = work.tool('bash', { command: 'cat' }, `⟦NO_PRUNE_BEGIN⟧\n${log(5)}\n⟦NO_PRUNE_END⟧`);
    const never = work.tool('keep_me', {}, log(6));
    const small = work.tool('bash', { command: 'date' }, 'x'.repeat(999));
    const pinned = work.tool('read_file', { path: 'src/pinned.ts' }, sourceFile(7, 7));
    const asked = work.tool('read_file', { path: 'src/asked.ts' }, sourceFile(7, 8));
    const enough = work.tool('bash', { command: 'cat words' }, 'some words '.repeat(91).slice(0, 1_000));
    session.read(16);
    work.tool('bash', { command: 'wc -l src/asked.ts' }, '79');
    work.say('user', 'Look at src/named.ts again.');
    await session.send();
    await replica.flush();
    const [conversation] = await replica.store.segments.conversations('default');
    if (!conversation) throw new Error('no conversation');
    const segments = await replica.store.segments.segments(conversation, { limit: 100 });
    await replica.gc.pin(
      'default',
      segments.filter(({ path }) => path === 'src/pinned.ts').map(({ id }) => id),
    );
    const gone = aside(await session.pause(31).send());
    expect(gone).toEqual(expect.arrayContaining([reread, enough]));
    for (const stays of [edited, named, failed, protectedText, never, small, pinned, asked])
      expect(gone).not.toContain(stays);
    expect(replica.steps).toMatchObject([{ segments: gone.length }]);
    expect(replica.sums).toMatchObject([{ fields: { results: gone.length } }]);
  });

  it('include results with recovered lines', async () => {
    const store = openStore();
    const session = new Session({ store, minPruneChars: 1_000 });
    const index = session.work.tool('bash', { command: 'npm start' }, serverLog(300, 1));
    session.read(14);
    const [marker] = markersIn(contentOf(messagesOf((await session.send()).body), index));
    await store.markServed([givenOutMark(marker?.pruneId ?? '')]);
    const gone = aside(await session.pause(31).send());
    expect(gone.length).toBeGreaterThan(5);
    expect(gone).not.toContain(index);
  });

  it('include a stashed result, whole again, once it is pinned', async () => {
    const session = new Session().read(14);
    await session.send();
    const [index = 0] = aside(await session.pause(31).send());
    const { replica, work } = session;
    await replica.flush();
    const [conversation] = await replica.store.segments.conversations('default');
    if (!conversation) throw new Error('no conversation');
    const segments = await replica.store.segments.segments(conversation, { limit: 100 });
    const id = segments.find(({ ordinal }) => ordinal === index)?.id ?? '';
    await replica.gc.pin('default', [id]);
    const sent = messagesOf((await session.send()).body);
    expect(contentOf(sent, index)).toBe(contentOf(work.messages, index));
  });
});

describe('a result that was cut before it is stashed', () => {
  it('keeps its prune id, and its single marker names all lines', async () => {
    const session = new Session({ minPruneChars: 1_000 });
    const text = serverLog(300, 1);
    const index = session.work.tool('bash', { command: 'npm start' }, text);
    session.read(14);
    const [before] = markersIn(contentOf(messagesOf((await session.send()).body), index));
    const sent = messagesOf((await session.pause(31).send()).body);
    const [after] = markersIn(contentOf(sent, index));
    expect(after).toMatchObject({ pruneId: before?.pruneId, startLine: 1, endLine: 300 });
    expect(await session.replica.store.findOriginal(after?.pruneId ?? '')).toBe(text);
  });
});

describe('the setting `measure`', () => {
  it('changes no request, and counts each result once', async () => {
    const clock = manualClock();
    const store = openStore(':memory:', clock, 1_000 * MINUTE);
    const session = new Session({ cold: 'measure', clock, store }).read(14);
    const first = await session.send();
    for (let pause = 0; pause < 2; pause++) {
      expect((await session.pause(31).send()).body.equals(first.body)).toBe(true);
    }
    const { sums, answers } = session.replica;
    expect(sums).toMatchObject([{ slice: 'cold', key: 'gpt-test', fields: { conversations: 1 } }]);
    expect(sums[0]?.fields.results).toBeGreaterThan(5);
    expect(answers.takeMeasured('default', first.conversationId)).toBe(sums[0]?.fields.tokens);
  });
});

describe('the first recovery of a stashed result', () => {
  it('is counted, and further recoveries are not', async () => {
    const session = new Session().read(14);
    await session.send();
    const cold = await session.pause(31).send();
    const [marker] = markersIn(contentOf(messagesOf(cold.body), aside(cold)[0] ?? 0));
    const { marks } = session.replica;
    const pruneId = marker?.pruneId ?? '';
    const times = [];
    for (let i = 0; i < 2; i++) times.push(await marks.noteGivenOut([pruneId, pruneId]));
    expect([...times, await marks.noteGivenOut(['prn_000000000000'])]).toEqual([[pruneId], [], []]);
  });

  it('is booked once, even with several recoveries at the same time', async () => {
    const session = new Session().read(14);
    await session.send();
    const cold = await session.pause(31).send();
    const [marker] = markersIn(contentOf(messagesOf(cold.body), aside(cold)[0] ?? 0));
    const { books, sums, failures } = session.replica;
    const pruneIds = [marker?.pruneId ?? ''];
    for (let i = 0; i < 3; i++) books.recovered(pruneIds);
    books.recovered(['prn_000000000000']);
    await books.flush();
    expect(sums.filter(({ fields }) => 'recovered' in fields)).toMatchObject([{ fields: { recovered: 1 } }]);
    expect(failures).toEqual([]);
  });
});

describe('a tool error', () => {
  it.each([
    ['Error: ENOENT', {}],
    ['output\nexit code: 1', {}],
    ['{"output":"…","metadata":{"exit_code":101}}', {}],
    ['out', { content: [{ type: 'tool_result', tool_use_id: 'c', is_error: true, content: 'out' }] }],
    ['out', { type: 'function_call_output', call_id: 'c', success: false, output: 'out' }],
    ['out', { parts: [{ functionResponse: { id: 'c', name: 'x', response: { error: 'no' } } }] }],
  ])('is recognised: %s %j', (text, message) => {
    expect(isFailed(text, 'c', () => message)).toBe(true);
  });

  it.each([
    ['no errors found, exit code 0', {}],
    ['exit code: 0', {}],
    ['out', { content: [{ type: 'tool_result', tool_use_id: 'other', is_error: true, content: 'no' }] }],
    ['out', { parts: [{ functionResponse: { id: 'c', name: 'x', response: { output: 'fine' } } }] }],
  ])('is not seen in %s %j', (text, message) => {
    expect(isFailed(text, 'c', () => message)).toBe(false);
  });
});

function turnOf(conversationId: string, atMs: number) {
  return {
    ...{ requestId: 'r1', atMs, project: 'default', conversationId, wire: 'chat', cloud: '', model: 'gpt-test' },
    ...{ arm: 'pruned' as const, estimated: false, fresh: 10_000, write5m: 0, write1h: 0, read: 0, output: 10 },
    ...{
      dollars: 0,
      dollarsWithout: 0,
      removed: 0,
      removedNew: 0,
      miss: null,
      missTokens: 0,
      missDollars: 0,
      missAt: 0,
    },
    ...{ regretTokens: 0, regretDollars: 0, userMessages: 0, calls: 0, recoveries: 0 },
  };
}
