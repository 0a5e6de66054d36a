import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { entering } from '@mcp-pruner/money/bill.ts';
import { dayOf, type Prices } from '@mcp-pruner/money/prices.ts';
import type { OpenLedger } from 'mcp-pruner/app/guest.ts';
import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import { fittedToHeap } from 'mcp-pruner/base/fitted-to-heap.ts';
import { started, type Work, waitFor } from 'mcp-pruner/base/work.ts';
import { type BackgroundWriter, WriteBehind } from 'mcp-pruner/base/write-behind.ts';
import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerQuery, LedgerReport } from 'mcp-pruner/core/ports/ledger-report.ts';
import type { LedgerStore, LedgerSum, SumGroup } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { RegretFacts, RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import type { StoredPrune } from 'mcp-pruner/core/ports.ts';
import { isUnwritable } from 'mcp-pruner/errors/errors.ts';
import type { HeldState } from './billing.ts';
import { regretSums, WaitingSums } from './figures.ts';
import { ModelScale } from './model-scale.ts';
import { reportOf } from './report.ts';
import {
  ALIVE_EVERY_MS,
  ALIVE_MS,
  PROCESSES,
  ROW_DROPPED,
  SETTLE_MS,
  Settlement,
  type SettlementParts,
  type SettleResult,
} from './settlement.ts';

export interface LedgerOptions {
  readonly store: LedgerStore;
  readonly prices: Prices;
  readonly clock: { nowMs(): number };
  /** Process id, unique among the processes that share the store. Default: `''`, for the only process. */
  readonly processId?: string;
  readonly onFailure: FailureReporter;
  /** Finds a stored prune by id. `conversationOf` returns the conversation in which this process last saw it. */
  readonly findPrune?: (pruneId: string) => Promise<StoredPrune | null>;
  readonly conversationOf?: (pruneId: string) => string;
  /** Called for each billed request, with the savings by cuts before its messages. */
  readonly onBilled?: (turn: LedgerTurn) => void;
  /** Called with the number of figures added to the project `(others)` because the day was full. */
  readonly onFolded?: (figures: number) => void;
  /** Shared write-behind queue. Default: a separate one. */
  readonly behind?: WriteBehind | undefined;
}

/** Time for which requests are collected before they are billed together, in milliseconds. */
const WRITE_MS = 1_000;
/** Maximum number of requests per transaction: some ten milliseconds of the event loop. */
const BILLED_AT_ONCE = 200;
/**
 * Limits for unbilled requests, and for messages in them, while the store is unavailable. Beyond them, requests are kept
 * without their details: their bills take half a kilobyte each.
 */
const MAX_QUEUED = 5_000;
const MAX_BARE = fittedToHeap(100_000);
const MAX_QUEUED_MESSAGES = fittedToHeap(200_000);
/** Maximum total number of messages in the states held in memory. */
const MAX_MESSAGES = fittedToHeap(400_000);
const MAX_CONVERSATIONS = 10_000;
/** Pause between attempts on close to bill requests that wait for another process, in milliseconds. */
const CLOSE_PAUSE_MS = 50;

/** Project and conversation in which a text was cut, and the last price of a new token in its conversation, in dollars. */
interface Place {
  readonly project: string;
  readonly model: string;
  readonly conversationId: string;
  readonly entering: number;
}

/**
 * Bills requests soon after they end, from the stored states of their conversations, so that processes sharing a store
 * agree. No request waits for its bill. While the store is unavailable, up to 5,000 requests are queued in memory, and
 * further ones with their bills only.
 */
export class Ledger implements OpenLedger {
  readonly #options: LedgerOptions;
  readonly #held = new BoundedMap<string, HeldState>(MAX_MESSAGES, sizeOf);
  /** Per conversation: project, and price of a new token in its newest request billed here. */
  readonly #places = new BoundedMap<string, Place>(MAX_CONVERSATIONS);
  readonly #queue: RequestFacts[] = [];
  /** Number of messages in `#queue`. */
  #queuedMessages = 0;
  #dropped = 0;
  /** Sums of recoveries not yet written. */
  readonly #sums = new WaitingSums();
  readonly #process: string;
  #aliveMs = Number.NEGATIVE_INFINITY;
  /** Number of requests waiting in the store for their predecessors. */
  #waiting = 0;
  /** Number of requests per transaction; lower while a request that cannot be written is searched. */
  #atOnce = BILLED_AT_ONCE;
  #failingSinceMs: number | null = null;
  #closing = false;
  #lost = 0;
  #unfinished = new Set<Promise<void>>();
  readonly #behind: BackgroundWriter;
  #reported = (): Promise<void> => Promise.resolve();

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#behind = (options.behind ?? new WriteBehind()).writer(() => started(this.#write()));
    this.#process = `process\n${options.processId ?? ''}`;
  }

  /** Bills the requests waiting in the store. Never rejects. */
  async start(): Promise<void> {
    await this.#behind.flush();
  }

  /** Number of unbilled requests: in memory, or waiting in the store for another process. */
  get queued(): number {
    return this.#queue.length + this.#waiting;
  }

  /** Since when requests cannot be billed, in epoch milliseconds; `null` if they can. */
  get failingSinceMs(): number | null {
    return this.#failingSinceMs;
  }

  /** Requests and figures that the store refused, since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  request(facts: RequestFacts): void {
    const messages = this.#queuedMessages + facts.messages.length;
    const isFull = this.#queue.length > 0 && messages > MAX_QUEUED_MESSAGES;
    if (this.#queue.length >= MAX_QUEUED || isFull) {
      this.#lost++;
      if (this.#queue.length < MAX_BARE) this.#queue.push(billOnly(facts));
    } else {
      this.#queue.push(facts);
      this.#queuedMessages = messages;
    }
    this.#behind.soon(this.#queue.length);
  }

  count(groups: readonly SumGroup[]): void {
    for (const group of groups) this.#sums.add(group);
    this.#behind.soon();
  }

  /** @param reported - resolves once all finished requests were reported here */
  reportedBy(reported: () => Promise<void>): void {
    this.#reported = reported;
  }

  recovered(pruneId: string, tokens: number): void {
    const { store, findPrune, conversationOf, onFailure, clock } = this.#options;
    if (!findPrune || this.#unfinished.size >= MAX_QUEUED) return;
    // bill the request with the cut first: a text must count as cut before it can be regretted
    const noted = this.#reported()
      .then(() => this.#behind.flush())
      .then(() => Promise.all([findPrune(pruneId), this.#placeOf(pruneId, conversationOf?.(pruneId))]))
      .then(async ([prune, { project, model, conversationId, entering }]) => {
        if (!prune) return;
        const { tool, kind } = prune.decision;
        const about = { atMs: clock.nowMs(), project };
        const regret: RegretFacts = { how: 'recovered', tool, kind, tokens, pruneId };
        this.#sums.add(regretSums(about, regret, entering));
        const fields = { regretTokens: tokens, regretDollars: tokens * entering };
        const day = dayOf(about.atMs);
        this.#sums.add({ day, project, slice: 'all', key: '', fields });
        this.#sums.add({ day, project, slice: 'model', key: model, fields });
        this.#behind.soon();
        if (conversationId === '') return;
        await store.addRegret({ project, conversationId }, { tokens, dollars: tokens * entering });
      })
      .catch((cause: unknown) => onFailure('regret_not_noted', cause));
    this.#unfinished.add(noted);
    void noted.finally(() => this.#unfinished.delete(noted));
  }

  /** Owner of a text, and last price of a new token in the conversation in which it was cut. */
  async #placeOf(pruneId: string, conversationId = ''): Promise<Place> {
    const known = this.#places.peek(conversationId);
    if (known) return known;
    const place = await this.#options.store.cutIn(pruneId);
    const newest = place?.newest ?? null;
    const price = newest && this.#options.prices.of(newest.model, newest.atMs, newest.cloud);
    return {
      project: place?.project ?? 'default',
      model: newest?.model ?? '',
      conversationId: place?.conversationId ?? '',
      entering: newest && price ? entering(newest, price) : 0,
    };
  }

  /**
   * Bills waiting requests. Never rejects. A request whose predecessor may be in another process waits in the store for
   * a moment.
   */
  async flush(): Promise<void> {
    await Promise.all(this.#unfinished);
    await this.#behind.flush();
  }

  /** @throws StoreUnavailable */
  async isAlone(): Promise<boolean> {
    if (this.#aliveMs === Number.NEGATIVE_INFINITY) return false;
    const { store, clock } = this.#options;
    const aliveFromMs = Math.trunc(clock.nowMs()) - ALIVE_MS;
    return (await store.processes({ lineage: PROCESSES, aliveFromMs })) <= 1;
  }

  /** Bills waiting requests, and waits for predecessors that other processes still have in memory. Never rejects. */
  async close(): Promise<void> {
    const endMs = performance.now() + SETTLE_MS + WRITE_MS;
    await this.flush();
    while (this.#waiting > 0 && this.#failingSinceMs === null && performance.now() < endMs) {
      await pause(CLOSE_PAUSE_MS);
      await this.flush();
    }
    this.#closing = true;
    await this.flush();
    if (this.#queue.length > 0) this.#report(new Error('the process ends'), this.#queue.length);
  }

  *#write(): Work<void> {
    try {
      yield* this.#settleSome();
      while (this.#queue.length > 0) {
        yield* waitFor(nextTurn());
        yield* this.#settleSome();
      }
      this.#failingSinceMs = null;
    } catch (cause) {
      if (this.#failingSinceMs === null) this.#report(cause, this.#queue.length);
      this.#failingSinceMs ??= this.#options.clock.nowMs();
    }
    if (this.#lost > 0 && this.#failingSinceMs === null) {
      this.#report(new Error('too many requests waited'), this.#lost);
      this.#lost = 0;
    }
    if (!this.#closing && this.#waiting + this.#queue.length > 0) this.#behind.soon();
  }

  #report(cause: unknown, requests: number): void {
    this.#options.onFailure('ledger_not_written', cause, { requests });
  }

  /**
   * Bills some requests. If the store refuses a row, writes the figures apart, and bills ever fewer requests at once
   * until the one at fault is found, which is dropped.
   *
   * @throws StoreUnavailable
   */
  *#settleSome(): Work<void> {
    const own = this.#queue.slice(0, this.#atOnce);
    const sums = this.#sums.take();
    try {
      yield* this.#settle(own, sums);
      this.#atOnce = Math.min(2 * this.#atOnce, BILLED_AT_ONCE);
    } catch (cause) {
      if (!isUnwritable(cause)) throw cause;
      if (sums.length > 0) yield* this.#writeApart(this.#sums.take());
      else if (own.length > 1) this.#atOnce = Math.ceil(own.length / 2);
      else yield* this.#dropFaulty(own, cause);
    }
  }

  /** Writes figures, except those that the store refuses. @throws StoreUnavailable */
  *#writeApart(sums: readonly LedgerSum[]): Work<void> {
    const { store, onFailure } = this.#options;
    const left = [...sums];
    try {
      while (left.length > 0) {
        const added = store.add([], left.slice(0, 1)).catch((cause: unknown) => {
          if (!isUnwritable(cause)) throw cause;
          this.#dropped++;
          onFailure(ROW_DROPPED, cause, { requests: 0 });
        });
        yield* waitFor(added);
        left.shift();
      }
    } finally {
      this.#sums.putBack(left);
    }
  }

  /** Drops a request of this process that the store refuses, or those that wait in the store. @throws StoreUnavailable */
  *#dropFaulty(own: readonly RequestFacts[], cause: unknown): Work<void> {
    try {
      yield* this.#settle([], []);
    } catch (other) {
      if (!isUnwritable(other)) throw other;
      return yield* this.#billWaitingApart();
    }
    if (own.length === 0) return;
    for (const { messages } of this.#queue.splice(0, own.length)) this.#queuedMessages -= messages.length;
    this.#dropped++;
    this.#options.onFailure(ROW_DROPPED, cause, { requests: own.length });
  }

  /** Bills the requests that wait in the store one by one, and drops those whose bill the store refuses. @throws StoreUnavailable */
  *#billWaitingApart(): Work<void> {
    const { waitingIds } = yield* this.#settle([], [], { only: '' });
    for (const only of waitingIds) {
      try {
        yield* this.#settle([], [], { only });
      } catch (cause) {
        if (!isUnwritable(cause)) throw cause;
        yield* this.#settle([], [], { only, drops: true });
        this.#options.onFailure(ROW_DROPPED, cause, { requests: 1 });
      }
    }
  }

  /** Bills requests and writes figures, in one transaction. @throws StoreUnavailable */
  *#settle(
    own: readonly RequestFacts[],
    sums: readonly LedgerSum[],
    waiting: Pick<SettlementParts, 'only' | 'drops'> = {},
  ): Work<Pick<Settlement, 'waitingIds'>> {
    const { store, prices, clock } = this.#options;
    const nowMs = clock.nowMs();
    const isAlive = nowMs - this.#aliveMs < ALIVE_EVERY_MS;
    const isIdle = own.length + this.#waiting + sums.length === 0 && isAlive && !this.#closing;
    if (isIdle && waiting.only === undefined) return { waitingIds: [] };
    const settlement = new Settlement({
      own,
      sums,
      held: this.#held,
      nowMs,
      process: this.#process,
      isAlive,
      last: this.#closing,
      billing: { prices },
      ...waiting,
    });
    let folded: number;
    try {
      folded = yield* waitFor(store.settle(settlement.query, (settling) => settlement.work(settling)));
    } catch (cause) {
      this.#sums.putBack(sums);
      throw cause;
    }
    if (!isAlive) this.#aliveMs = nowMs;
    for (const { messages } of this.#queue.splice(0, own.length)) this.#queuedMessages -= messages.length;
    this.#settled(settlement.result, folded);
    return settlement;
  }

  /** Updates in-memory data after a transaction. */
  #settled(result: SettleResult | null, folded: number): void {
    if (result === null) return;
    const { onBilled, onFolded, onFailure } = this.#options;
    this.#waiting = result.waiting;
    this.#dropped += result.dropped;
    for (const [name, state] of result.states) this.#held.set(name, state);
    for (const { turn, entering } of result.billed) {
      const { conversationId, project, model } = turn;
      if (conversationId !== '') this.#places.set(conversationId, { project, model, conversationId, entering });
      onBilled?.(turn);
    }
    for (const { reason, cause, about } of result.failures) onFailure(reason, cause, about);
    if (folded > 0) onFolded?.(folded);
  }
}

/** Reads the report of a store. */
export async function readReport(store: LedgerStore, query: LedgerQuery, prices?: Prices): Promise<LedgerReport> {
  const { sinceDay, ...of } = query;
  const [sums, conversations] = await Promise.all([
    store.totals(query),
    store.conversations({ ...of, sinceMs: Date.parse(sinceDay), limit: MAX_CONVERSATIONS }),
  ]);
  return reportOf(query, sums, conversations, prices);
}

/** A request of which only the bill is kept. It belongs to no conversation. */
function billOnly(facts: RequestFacts): RequestFacts {
  const none = { conversationId: '', lineage: '', messages: [], cacheUpTo: null, texts: [], regrets: [] };
  return { ...facts, ...none, fresh: { from: 0, tokens: 0 }, newest: undefined, summary: undefined, work: undefined };
}

/** Number of messages in a state, and one for itself. */
function sizeOf({ value }: HeldState): number {
  let size = 1;
  if (value === null || value instanceof ModelScale) return size;
  for (const { messages } of value.branches) size += messages.length;
  return size;
}
