import { describe, expect, it } from 'vitest';
import { OwnRecordsFile } from '../../src/app/own-records.ts';
import { WriteBehind } from '../../src/base/write-behind.ts';
import { TIMED_OUT } from '../../src/core/decide/time-limits.ts';
import type { Store } from '../../src/core/ports.ts';
import { RefusedConversations } from '../../src/core/request/provider-verdicts.ts';
import type { IncomingRequest } from '../../src/core/request/request.ts';
import { HistoryUnknown } from '../../src/core/sent/history-unknown.ts';
import { type OwnRecords, wholeRecord } from '../../src/core/sent/records.ts';
import { ShortTools } from '../../src/core/sent/short-tools.ts';
import { StoreUnavailable } from '../../src/errors/errors.ts';
import { ByteBudget } from '../../src/proxy/byte-budget.ts';
import { HistoryRefusals, isMomentary } from '../../src/proxy/history-refusals.ts';
import { PruneStep } from '../../src/proxy/prune-step.ts';
import { StoreWait } from '../../src/proxy/store-wait.ts';
import { Frames } from '../../src/proxy/websocket/frames.ts';
import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { NO_CONTEXT } from '../helpers/context.ts';
import { openPipeline, openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

interface ReplicaOptions {
  readonly maxMs?: number;
  readonly errorsMs?: number;
  readonly maxBytes?: number;
  readonly ownRecords?: OwnRecords;
  readonly refusals?: HistoryRefusals;
  /** The process was started while the store was away. */
  readonly isNew?: boolean;
}

/** A store that several replicas share, and that can be away. */
class SharedStore {
  readonly #store = openStore();
  readonly #waiting: ((isBack: boolean) => void)[] = [];
  #losesAnswers = '';
  reason = '';
  /** After so many calls it is back. */
  failures = Number.POSITIVE_INFINITY;

  readonly asked = new Proxy(this.#store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name === 'commit' && this.#losesAnswers !== '') return this.#lost(value.bind(target));
      if (this.reason === '' || name === 'epoch') return value.bind(target);
      return () => this.#fail();
    },
  }) as Store;

  #fail(): Promise<never> {
    const failure = Promise.reject(new StoreUnavailable(this.reason));
    if (--this.failures <= 0) this.reason = '';
    return failure;
  }

  /** What is written next is written, and then it is away, or was too slow to say so. */
  loseAnswers(how: 'unreachable' | 'locked' = 'unreachable'): void {
    this.#losesAnswers = how;
  }

  #lost(write: (...args: unknown[]) => Promise<unknown>): (...args: unknown[]) => Promise<never> {
    return async (...args) => {
      await write(...args);
      const how = this.#losesAnswers;
      this.#losesAnswers = '';
      if (how === 'unreachable') this.reason = how;
      throw Object.assign(new StoreUnavailable(how), { mayBeDone: true });
    };
  }

  readonly problem = () => (this.reason === '' ? null : { reason: this.reason });

  readonly untilBack = (): Promise<boolean> => new Promise((resolve) => this.#waiting.push(resolve));

  get waiting(): number {
    return this.#waiting.length;
  }

  /** @param isBack - or the time of those who wait is over */
  end(isBack: boolean): void {
    if (isBack) this.reason = '';
    for (const resolve of this.#waiting.splice(0)) resolve(isBack);
  }

  optionsOf(options: ReplicaOptions = {}) {
    const {
      maxMs = 600_000,
      errorsMs = 600_000,
      maxBytes = 1e9,
      ownRecords,
      refusals = new HistoryRefusals(),
      isNew = false,
    } = options;
    return {
      rewriter: openPipeline({
        store: this.asked,
        ...(ownRecords && { ownRecords }),
        ...(isNew && { shortTools: this.#shortTools() }),
      }),
      modeOf: () => ({ enabled: true, shadow: false }),
      maxBodyBytes: 1e8,
      budget: new ByteBudget(1e8),
      lateBudget: new ByteBudget(0),
      timeoutMs: 60_000,
      storeWait: new StoreWait({ problem: this.problem, untilBack: this.untilBack, maxMs, errorsMs, maxBytes }),
      refusals,
      onFailure: () => {},
    };
  }

  /** What a process reads of the store at its start, and must read again if it could not. */
  #shortTools(): ShortTools {
    const [load, seen, onFailure] = [() => this.asked.refusedConversations().then(() => []), async () => {}, () => {}];
    return new ShortTools({ load, seen, store: this.asked, clock: { nowMs: () => 0 }, ttlMs: 1, onFailure });
  }

  /** A proxy that knows of conversations what it was sent itself. */
  replica(dialect: Dialect, options: ReplicaOptions = {}) {
    const step = new PruneStep(this.optionsOf(options));
    return (body: Buffer, more: Partial<IncomingRequest> = {}) => step.prune(NO_CONTEXT, { body, dialect, ...more });
  }
}

const [OLD, NEW] = [serverLog(200), serverLog(200, 7)];

/** Each round is a command and its output. */
function chat(...logs: string[]): Buffer {
  const [first = '', ...others] = logs;
  const later = others.flatMap((content, i) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `l${i}`, type: 'function', function: { name: 'bash', arguments: '{"command":"cat b.log"}' } }],
    },
    { role: 'tool', tool_call_id: `l${i}`, content },
  ]);
  return chatBody([...oneResult(first), ...later]);
}

function messages(...logs: string[]): Buffer {
  const rounds = logs.flatMap((content, i) => [
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: `t${i}`, name: 'bash', input: { command: `cat app${i}.log` } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${i}`, content }] },
  ]);
  const question = { role: 'user', content: 'Why did the payment fail?' };
  return Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, messages: [question, ...rounds] }));
}

/** What was sent of a body before the messages that were added to it. */
const begin = (sent: Buffer | null): string => sent?.subarray(0, sent.lastIndexOf(']')).toString('utf8') ?? '?';

describe.each([
  { wire: 'chat completions', dialect: openaiChat, of: chat },
  { wire: 'messages', dialect: anthropicMessages, of: messages },
])('a request of $wire whose history is only in the store, while the store is unreachable', ({ dialect, of }) => {
  it('waits, and is sent as before once the store is back', async () => {
    const store = new SharedStore();
    const sent = (await store.replica(dialect)(of(OLD))).changed;
    expect(sent?.length).toBeLessThan(OLD.length);
    store.reason = 'unreachable';
    const going = store.replica(dialect)(of(OLD, NEW));
    await expect.poll(() => store.waiting).toBe(1);
    store.end(true);
    const { changed, fallbacks } = await going;
    expect(fallbacks).toEqual([]);
    expect(changed?.toString('utf8').startsWith(begin(sent))).toBe(true);
    expect(changed?.includes(JSON.stringify(NEW))).toBe(false);
  });

  it.each(['corrupt', 'error'])('also waits for a moment if the store answers with an error: %s', async (reason) => {
    const store = new SharedStore();
    const sent = (await store.replica(dialect)(of(OLD))).changed;
    store.reason = reason;
    store.failures = 3;
    const { changed, fallbacks } = await store.replica(dialect)(of(OLD, NEW));
    expect([store.failures, fallbacks]).toEqual([0, []]);
    expect(changed?.toString('utf8').startsWith(begin(sent))).toBe(true);
  });

  it('also waits if the store became unreachable during the commit, which may have succeeded', async () => {
    const store = new SharedStore();
    store.loseAnswers();
    const going = store.replica(dialect)(of(OLD));
    await expect.poll(() => store.waiting).toBe(1);
    store.end(true);
    const { changed } = await going;
    expect(changed?.length).toBeLessThan(OLD.length);
    const next = (await store.replica(dialect)(of(OLD, NEW))).changed;
    expect(next?.toString('utf8').startsWith(begin(changed))).toBe(true);
  });

  it('also waits if the commit got no answer in time', async () => {
    const store = new SharedStore();
    store.loseAnswers('locked');
    const { changed, fallbacks } = await store.replica(dialect)(of(OLD));
    expect([changed !== null, fallbacks]).toEqual([true, []]);
    const next = (await store.replica(dialect)(of(OLD, NEW))).changed;
    expect(next?.toString('utf8').startsWith(begin(changed))).toBe(true);
  });

  it('is forwarded unchanged after its time limit, or if too many requests wait', async () => {
    const store = new SharedStore();
    await store.replica(dialect)(of(OLD));
    store.reason = 'unreachable';
    const going = store.replica(dialect)(of(OLD, NEW));
    await expect.poll(() => store.waiting).toBe(1);
    store.end(false);
    const others = [store.replica(dialect, { maxMs: 0 }), store.replica(dialect, { maxBytes: 1_000 })];
    for (const one of [going, ...others.map((replica) => replica(of(OLD, NEW)))]) {
      const raw = dialect === openaiChat ? [] : ['history_raw'];
      expect(await one).toMatchObject({ changed: null, fallbacks: ['store_unreachable', ...raw] });
    }
    expect(store.waiting).toBe(0);
  });

  it('does not start to wait if this replica has its history, or if the store stays unavailable', async () => {
    const store = new SharedStore();
    const replica = store.replica(dialect);
    const sent = (await replica(of(OLD))).changed;
    store.reason = 'unreachable';
    expect((await store.replica(dialect)(of(NEW))).changed).toBeNull();
    const { changed } = await replica(of(OLD, NEW));
    expect(changed?.toString('utf8').startsWith(begin(sent))).toBe(true);
    store.reason = 'corrupt';
    expect((await store.replica(dialect, { errorsMs: 0 })(of(OLD, NEW))).changed).toBeNull();
    store.reason = 'newer_schema';
    expect((await store.replica(dialect)(of(OLD, NEW))).changed).toBeNull();
    expect(store.waiting).toBe(0);
  });
});

it('a record of sent messages that comes after the database has closed is reported, and the process goes on', async () => {
  const file = openStore();
  const failures: string[] = [];
  const own = new OwnRecordsFile({
    ...{
      open: async () => ({ ...fileOf(file), sql: file.sql, close: async () => {} }),
      shared: {
        sql: file.sql,
        ready: async () => {},
        epoch: () => {
          throw new StoreUnavailable('closed');
        },
      },
      ttlMs: 1,
      behind: new WriteBehind(),
      clock: { nowMs: () => 0 },
    },
    onFailure: (reason) => failures.push(reason),
  });
  own.add([wholeRecord('p1')]);
  await own.close();
  expect(failures).toEqual(['past_not_noted']);
});

describe('a request whose bound history is only in a store that stays locked', () => {
  it.each([
    { dialect: anthropicMessages, of: messages, isRetried: true },
    { dialect: anthropicMessages, of: messages, isRetried: true, isNew: true },
    { dialect: openaiChat, of: chat, isRetried: undefined },
  ])(
    'is to be sent again, unless nothing verifies it: $isRetried',
    async ({ dialect, of, isRetried, isNew = false }) => {
      const store = new SharedStore();
      await store.replica(dialect)(of(OLD));
      store.reason = 'locked';
      const replica = store.replica(dialect, { maxMs: 0, isNew });
      const { retry, changed, fallbacks } = await replica(of(OLD, NEW));
      expect([retry, changed]).toEqual([isRetried, null]);
      expect(fallbacks).toEqual(isRetried ? ['asked_to_retry'] : ['store_locked']);
      expect((await replica(of(NEW))).retry).toBeUndefined(); // its first request
      expect((await replica(of(OLD, NEW), { purpose: 'count' })).retry).toBeUndefined();
      expect((await replica(of('short', NEW))).retry).toBeUndefined(); // nothing that could have been cut
      for (const reason of ['unreachable', 'full', 'corrupt', 'newer_schema']) {
        store.reason = reason;
        expect([reason, (await replica(of(OLD, NEW))).retry]).toEqual([reason, undefined]);
      }
    },
  );

  it('is forwarded whole after 45 seconds of refusals, while other conversations still have theirs', async () => {
    const store = new SharedStore();
    await store.replica(anthropicMessages)(messages(OLD));
    store.reason = 'locked';
    let nowMs = performance.now();
    const refusals = new HistoryRefusals(() => nowMs);
    const replica = store.replica(anthropicMessages, { maxMs: 0, refusals });
    const outcomes: (readonly string[])[] = [];
    const ask = async (body: Buffer) => outcomes.push((await replica(body)).fallbacks);
    await ask(messages(OLD, NEW));
    nowMs += 44_000;
    await ask(messages(OLD, NEW));
    nowMs += 2_000;
    await ask(messages(OLD, NEW));
    const [retry, raw] = [['asked_to_retry'], ['store_locked', 'history_raw']];
    expect(outcomes).toEqual([retry, retry, raw]);
    expect(refusals.refuses('another conversation', nowMs)).toBe(true);
  });

  it('is refused only for a lock or a time-out', () => {
    const refused = (cause: unknown) => isMomentary(new HistoryUnknown(cause, 'c'));
    expect([refused(TIMED_OUT), refused(new StoreUnavailable('locked'))]).toEqual([true, true]);
    expect([refused(new StoreUnavailable('unreachable')), refused(new Error('other'))]).toEqual([false, false]);
  });

  it('is repeated without a retry if this replica has sent it, even before a restart', async () => {
    const store = new SharedStore();
    const file = openStore();
    const failures: unknown[] = [];
    const own = () =>
      new OwnRecordsFile({
        ...{
          open: async () => ({ ...fileOf(file), sql: file.sql, close: async () => {} }),
          shared: { sql: file.sql, ready: async () => {}, epoch: () => '' },
          ttlMs: 1,
          behind: new WriteBehind(),
          clock: { nowMs: () => 0 },
        },
        onFailure: (_reason, cause) => failures.push(cause),
      });
    const before = own();
    const sent = (await store.replica(anthropicMessages, { ownRecords: before })(messages(OLD))).changed;
    for (const reason of ['locked', 'unreachable']) {
      store.reason = reason;
      const ownRecords = reason === 'locked' ? before : own();
      if (reason === 'unreachable') expect(await written(file)).toBeGreaterThan(0);
      const { changed, retry } = await store.replica(anthropicMessages, { maxMs: 0, ownRecords })(messages(OLD, NEW));
      expect(retry).toBeUndefined();
      expect(changed?.toString('utf8').startsWith(begin(sent))).toBe(true);
      await ownRecords.close();
    }
    expect(failures).toEqual([]);
  });

  it('is answered with an error event in a frame', async () => {
    const store = new SharedStore();
    store.reason = 'locked';
    const replies: string[] = [];
    const statuses: number[] = [];
    const frames = new Frames(
      {
        ...store.optionsOf({ maxMs: 0 }),
        ...{ dialect: openaiResponses, refused: new RefusedConversations(store.asked), newRequestId: () => 'id' },
        onReport: (report) => void statuses.push(report().status),
        clock: { nowMs: () => 0 },
        onNotUnderstood: () => {},
      },
      {
        context: NO_CONTEXT,
        ...{ fields: [], foreign: false, cloud: 'openai', origin: '' },
        ...{ send: () => {}, reply: (text) => void replies.push(text.toString('utf8')), onClosed: () => {} },
      },
    );
    const input = [
      { role: 'user', content: 'Why did the payment fail?' },
      { type: 'reasoning', id: 'r', summary: [], encrypted_content: 'thought' },
      { type: 'function_call', call_id: 'c', name: 'bash', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: OLD },
      { role: 'assistant', content: 'It was refused.' },
      { role: 'user', content: 'Go on.' },
    ];
    const frame = Buffer.from(JSON.stringify({ type: 'response.create', model: 'gpt-6.2-sol', input }));
    expect(await frames.fromClient(frame, false)).toBeNull();
    expect(replies.map((text) => JSON.parse(text))).toMatchObject([
      { type: 'error', status: 503, error: { code: 'server_busy' } },
    ]);
    expect([statuses, frames.isBusy]).toEqual([[503], false]);
  });
});

/** The store behind the file of a replica, which other replicas of a test use as well. */
function fileOf(file: ReturnType<typeof openStore>): Pick<Store, 'findSent' | 'commit' | 'sweep'> {
  return {
    findSent: (prefixes) => file.findSent(prefixes),
    commit: (batch, waitMs) => file.commit(batch, waitMs),
    sweep: () => file.sweep(),
  };
}

/** Number of records in a file. */
async function written(file: ReturnType<typeof openStore>): Promise<number> {
  const [row] = await file.sql.all<{ count: number }>('SELECT count(*) AS count FROM main.sent');
  return Number(row?.count ?? 0);
}

describe('a history that a provider refused whole while the store is unreachable', () => {
  it('is resent with its inferred cuts, and new texts stay whole', async () => {
    const store = new SharedStore();
    const sent = (await store.replica(anthropicMessages)(messages(OLD))).changed;
    store.reason = 'unreachable';
    const replica = store.replica(anthropicMessages);
    const { changed } = await replica(messages(OLD, NEW), { historyRefused: true });
    expect(changed?.toString('utf8').startsWith(begin(sent))).toBe(true);
    expect(changed?.includes(JSON.stringify(NEW))).toBe(true);
    // it holds for this replica, also where new texts are not looked at any more
    const again = await replica(messages(OLD, NEW, 'short'));
    expect(again.changed?.toString('utf8').startsWith(begin(changed))).toBe(true);
    expect(store.waiting).toBe(0);
  });
});
