import { setTimeout as pause } from 'node:timers/promises';
import { compactsOnDemand } from '@mcp-pruner/money/compaction-models.ts';
import { readThreshold } from '@mcp-pruner/money/compactions.ts';
import { dayOf, dollarsOf, type Prices } from '@mcp-pruner/money/prices.ts';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { BudgetGate, OverBudget, Reservation } from 'mcp-pruner/core/ports/budgets.ts';
import type { CompactionStore } from 'mcp-pruner/core/ports/compactions.ts';
import type { LedgerStore, SumGroup } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { SeamRequest } from 'mcp-pruner/core/ports/seams.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import type { RewrittenRequest } from 'mcp-pruner/core/request/rewritten.ts';
import type { ObservedRequest } from 'mcp-pruner/core/seen/reader.ts';
import type { Log } from 'mcp-pruner/observe/log.ts';
import { requestHeaders, withBeta } from 'mcp-pruner/proxy/upstream/headers.ts';
import {
  type AskedCompaction,
  type Compaction,
  type CompactionBook,
  LOST_MS,
  type OffModel,
  SHARED_MS,
  STOPPED,
} from './book.ts';
import { highestPrice, type Moment, type Pace, pays, tokensOf } from './moment.ts';
import { type CompactionAnswer, type CompactionUsage, hostOf, MAX_ANSWER_BYTES, type SeamWire } from './wire.ts';

interface BackgroundOptions {
  readonly settings: Settings;
  readonly book: CompactionBook;
  readonly pace: Pace;
  readonly prices: Prices;
  readonly ledger: LedgerStore;
  /** Whether no other process serves requests over this store. */
  readonly isAlone: () => Promise<boolean>;
  readonly compactions: CompactionStore;
  /** Adds figures to the ledger. */
  readonly count: (sums: readonly SumGroup[]) => void;
  /** Makes sure that the results of all requests so far can be searched. Never rejects. */
  readonly flushSeen: () => Promise<void>;
  /** Stores short results of a request. Never rejects. */
  readonly keepShort: (request: ObservedRequest, conversationId: string) => Promise<void>;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly log: Log;
  readonly onResult: (result: CompactionResult, model: string) => void;
  readonly onFailure: FailureReporter;
}

export type CompactionResult = 'made' | 'failed' | 'refused';

/** A seam at which a compaction may begin. */
interface Seam {
  readonly request: SeamRequest;
  readonly wire: SeamWire;
  /** The body as it was sent. */
  readonly sent: Buffer;
  /** Number of messages before the seam, as the client sent them, and the hash of them. */
  readonly count: number;
  readonly prefix: string;
  readonly known: readonly Compaction[];
  /** The compaction whose block was sent. */
  readonly used: Compaction | null;
  /** Tokens of the last answered request, and of the first one; `null` if this process did not see it. */
  readonly weight: number | null;
  readonly first: number | null;
  readonly budgets: BudgetGate | null;
  /** Called if the provider accepts no further requests of the key for now. */
  readonly busy: (retryAfter: string) => void;
}

const TIMEOUT_MS = 5 * 60_000;
/** A compaction that is older is known to every process, even if their clocks differ. */
const OLDER_MS = 60_000;
/** After a failure, this many requests pass before the next attempt; the same after any compaction. */
const RETRY_REQUESTS = 20;
const LEAST_APART = 10;
const LEAST_UNPAID = 50;
/** A client that compacts within this many tokens does it itself. */
const IN_SIGHT_TOKENS = 10_000;
const MAX_HEAD = 40_000;
/** Headers that belong to the client's own request. */
const OWN_TO_REQUEST = [
  ...['accept', 'accept-encoding', 'content-encoding', 'content-length', 'x-request-id', 'x-client-request-id'],
  ...['idempotency-key', 'x-idempotency-key', 'x-stainless-retry-count', 'x-stainless-timeout', 'x-retry-count'],
];
const BUSY: ReadonlySet<number> = new Set([429, 529]);
const DEFAULT_HOSTS: ReadonlySet<string> = new Set(['api.anthropic.com', 'api.openai.com', 'api.x.ai', 'chatgpt.com']);

/** Has the provider summarise finished work, beside the client's requests. Nothing of it reaches a client. */
export class Background {
  readonly #options: BackgroundOptions;
  readonly #running = new Set<Promise<void>>();
  #off: ReadonlyMap<string, OffModel> = new Map();
  readonly #stopping = new AbortController();
  #loginWarned = false;

  constructor(options: BackgroundOptions) {
    this.#options = options;
  }

  /** Models that are not asked at the moment. */
  get offModels(): string[] {
    const nowMs = this.#options.clock.nowMs();
    return [...this.#off].flatMap(([model, { untilMs }]) => (untilMs > nowMs ? model : []));
  }

  /** Reads which models failed. Never rejects. */
  async readOff(): Promise<void> {
    const { book, clock, onFailure } = this.#options;
    try {
      this.#off = await book.offModels(clock.nowMs());
    } catch (cause) {
      onFailure('compactions_not_read', cause);
    }
  }

  /** Starts a compaction if it pays. @returns a promise that resolves once it was made, or not */
  consider(seam: Seam): Promise<void> {
    if (this.#stopping.signal.aborted) return Promise.resolve();
    const { onFailure } = this.#options;
    const work = this.#consider(seam).catch((cause: unknown) =>
      onFailure('compaction_not_made', cause, { requestId: seam.request.requestId }),
    );
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
    return work;
  }

  /** Resolves once nothing is running. Never rejects. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  close(): void {
    this.#stopping.abort();
  }

  async #consider(seam: Seam): Promise<void> {
    const { request, prefix, count, wire } = seam;
    const { rewritten, project, dialect, origin } = request;
    const why = this.#excluded(seam);
    if (why !== '') return this.#note(seam, why);
    const moment = await this.#momentOf(seam);
    const problem = moment === null ? 'weight_unknown' : await this.#unfit(seam, moment);
    if (moment === null || problem !== '') return this.#note(seam, problem);
    const messages = rewritten.messages.slice(0, count);
    const asked: AskedCompaction = {
      ...{ project, conversation: rewritten.conversationId, shown: rewritten.shownId, keyId: request.keyId ?? '' },
      ...{ wire: dialect.name, model: rewritten.model, host: hostOf(origin), prefix, messages: count },
      pictures: wire.pictures(rewritten.received, messages),
      weight: moment.weight,
      askedMs: this.#options.clock.nowMs(),
    };
    const place = await this.#reserve(seam, moment);
    if (place === 'over') return this.#note(seam, 'budget');
    const id = await this.#options.book.ask(asked);
    if (id === null) {
      place?.settle(0, false);
      return;
    }
    await this.#run(seam, moment, id, place);
  }

  /** Why a seam is not used, by facts in memory; `''` if it may be. */
  #excluded({ request, wire }: Seam): string {
    const { settings, clock, prices } = this.#options;
    const { rewritten, dialect, body, origin, isSubscription } = request;
    const { model } = rewritten;
    if (settings.recall === 'off') return 'recall_off'; // what is replaced could not be searched
    if (isSubscription && !settings.seamsAlso.logins) return 'login';
    const host = hostOf(origin);
    if (!DEFAULT_HOSTS.has(host) && !settings.seamsAlso.hosts.includes(host)) return 'host';
    if (!compactsOnDemand(dialect.name, model)) return 'model';
    if ((this.#off.get(model)?.untilMs ?? 0) > clock.nowMs()) return 'model_off';
    if (prices.of(model, clock.nowMs()) === null) return 'no_price';
    return wire.excluded(body, dialect.scan(body));
  }

  async #momentOf({ request, weight, first }: Seam): Promise<Moment | null> {
    const { ledger, clock } = this.#options;
    const { project, rewritten } = request;
    const about = { project, model: rewritten.model, nowMs: clock.nowMs() };
    if (weight !== null && first !== null) return { ...about, weight, head: Math.min(MAX_HEAD, first) };
    const conversationId = rewritten.shownId;
    const [newest] = await ledger.turns({ conversationId, newestFirst: true, limit: 1 });
    const [oldest] = await ledger.turns({ conversationId, limit: 1 });
    if (newest === undefined || oldest === undefined) return null;
    return { ...about, weight: tokensOf(newest), head: Math.min(MAX_HEAD, tokensOf(oldest)) };
  }

  /** Why a compaction does not pay now, or comes too soon; `''` if it does. */
  async #unfit({ request, known, used }: Seam, moment: Moment): Promise<string> {
    const { settings, pace, prices, compactions, clock } = this.#options;
    const { project, client, rewritten } = request;
    const { weight } = moment;
    if (settings.seamTokens !== 'auto' && weight < settings.seamTokens) return 'light';
    const [last] = known;
    if (last !== undefined) {
      if (last.state === 'asked' && clock.nowMs() - last.askedMs < LOST_MS) return 'running';
      if (last.state === 'ready') return 'running';
      const isHeld = last.state === 'used' || last.state === 'kept';
      const since = answersSince(rewritten.messages, isHeld ? last.usedMessages : last.messages);
      if (!isHeld && since < RETRY_REQUESTS) return 'too_soon';
      if (isHeld && since < LEAST_APART) return 'too_soon';
      if (isHeld && since < LEAST_UNPAID && !isPaid(used ?? last, since, prices, rewritten.model, clock.nowMs()))
        return 'unpaid';
    }
    const threshold = await readThreshold(compactions, { project, product: client, model: rewritten.model });
    if (threshold !== null && threshold.tokens - weight < IN_SIGHT_TOKENS) return 'client_compacts_soon';
    const remaining = await pace.remaining(project, weight, moment.nowMs);
    return pays(moment, remaining, prices) ? '' : 'does_not_pay';
  }

  /** Reserves the highest price in the key's and the project's budget. */
  async #reserve({ request, budgets }: Seam, moment: Moment): Promise<Reservation | 'over' | null> {
    const { keyId, project } = request;
    if (budgets === null || !budgets.isNeeded || !budgets.covers(keyId, project)) return null;
    const dollars = highestPrice(moment, this.#options.prices);
    const place: Reservation | OverBudget = await budgets.enter({
      ...{ requestId: this.#options.newId(), keyId, project, dollars },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return 'code' in place ? 'over' : place;
  }

  async #run(seam: Seam, moment: Moment, id: number, place: Reservation | null): Promise<void> {
    const { book, clock, log, onResult, flushSeen } = this.#options;
    const { request } = seam;
    if (request.isSubscription && !this.#loginWarned) {
      this.#loginWarned = true;
      log.warn(
        'compacting a conversation of a subscription login: no provider documents this (MCP_PRUNER_SEAMS_LOGINS)',
      );
    }
    const askedAt = performance.now();
    const { answer, cause } = await this.#ask(seam);
    const usage = answer?.usage ?? null;
    const dollars = this.#dollarsOf(usage, request.rewritten.model);
    place?.settle(dollars, false);
    this.#bill(seam, usage, dollars);
    const about = {
      conversation: request.rewritten.shownId,
      model: request.rewritten.model,
      weight: moment.weight,
      dollars,
    };
    if (answer === null || 'cause' in answer) {
      const why = answer?.cause ?? cause;
      await book.failed(id, why, dollars);
      log.warn(
        { ...about, reason: why },
        'the provider made no summary of finished work; the conversation goes on whole',
      );
      onResult('failed', about.model);
      await this.readOff();
      return;
    }
    // what is replaced can be searched before it is, of whatever length
    await this.#keepShort(seam);
    await flushSeen();
    if (!(await this.#isKnownToAll(askedAt))) return book.failed(id, STOPPED, dollars);
    const leftOver = moment.head + (usage?.output ?? 0);
    await book.ready(id, answer.block, { leftOver, dollars, atMs: clock.nowMs() });
    log.info(about, 'finished work was summarised by the provider');
    onResult('made', about.model);
  }

  async #keepShort({ request: { rewritten, dialect, scope, isOwned } }: Seam): Promise<void> {
    const about = { body: rewritten.received, dialect, scope, isOwned, read: null, segments: null };
    await this.#options.keepShort({ ...about, purpose: 'generate', keepsResults: true }, rewritten.shownId);
  }

  /**
   * Waits until every other process has looked for compactions, after the first one was asked for. One that starts
   * meanwhile looks after it announced itself.
   *
   * @param askedAt - `performance.now()` of that
   * @returns whether the process goes on
   */
  async #isKnownToAll(askedAt: number): Promise<boolean> {
    const { book, clock, isAlone } = this.#options;
    if ((await isAlone()) || (await book.hasAny(clock.nowMs() - OLDER_MS))) return true;
    const left = Math.max(0, SHARED_MS - (performance.now() - askedAt));
    const { signal } = this.#stopping;
    await pause(left, undefined, { ref: false, signal }).catch(() => undefined); // ends early with the process
    return !signal.aborted;
  }

  /** Sends the request and reads its answer. Never rejects. */
  async #ask(seam: Seam): Promise<{ readonly answer: CompactionAnswer | null; readonly cause: string }> {
    const { request, wire, sent } = seam;
    const { dialect, path, rawHeaders, isSubscription, rewritten } = request;
    try {
      const scanned = dialect.scan(sent);
      const behind = rewritten.messages.length - seam.count;
      const count = scanned.messages.length - behind;
      const { path: to, body } = wire.request(sent, scanned, count, path, isSubscription);
      const own = requestHeaders(rawHeaders, OWN_TO_REQUEST);
      const headers = wire.beta === '' ? own : withBeta(own, wire.beta);
      const answered = await request.send(to, headers, body, { timeoutMs: TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES });
      if (BUSY.has(answered.status)) seam.busy(String(answered.headers['retry-after'] ?? ''));
      if (answered.status !== 200) return { answer: null, cause: `status_${answered.status}` };
      const isStream = String(answered.headers['content-type'] ?? '').includes('event-stream');
      return { answer: wire.answer(answered.body, body, isStream, isSubscription), cause: '' };
    } catch (cause) {
      if (this.#stopping.signal.aborted) return { answer: null, cause: STOPPED };
      this.#options.onFailure('compaction_not_answered', cause, { requestId: request.requestId });
      return { answer: null, cause: cause instanceof Error && cause.name === 'TimeoutError' ? 'timeout' : 'no_answer' };
    }
  }

  #dollarsOf(usage: CompactionUsage | null, model: string): number {
    const price = this.#options.prices.of(model, this.#options.clock.nowMs());
    return usage === null || price === null ? 0 : dollarsOf(countsOf(usage), price);
  }

  /** Adds the compaction to the ledger: in dollars and tokens, not in requests. */
  #bill({ request }: Seam, usage: CompactionUsage | null, dollars: number): void {
    if (usage === null) return;
    const { project, keyId, rewritten } = request;
    const day = dayOf(this.#options.clock.nowMs());
    const fields = { ...countsOf(usage), dollars, without: dollars };
    const group = (slice: SumGroup['slice'], key: string): SumGroup => ({ day, project, slice, key, fields });
    const ofKey = keyId === undefined ? [] : [group('key', keyId)];
    const own = { ...group('compaction', rewritten.model), fields: { ...fields, compactions: 1 } };
    this.#options.count([group('all', ''), group('model', rewritten.model), own, ...ofKey]);
  }

  #note({ request }: Seam, reason: string): void {
    this.#options.log.debug({ conversation: request.rewritten.shownId, reason }, 'finished work is not summarised');
  }
}

function countsOf({ input, read, written, written1h, output }: CompactionUsage) {
  return { fresh: input, write5m: written - written1h, write1h: written1h, read, output };
}

/** Number of answers of the model in a conversation, from a message on. */
function answersSince(messages: RewrittenRequest['messages'], from: number): number {
  return messages.reduce(
    (count, { role }, i) =>
      count + (i >= from && role === 'assistant' && messages[i - 1]?.role !== 'assistant' ? 1 : 0),
    0,
  );
}

/** Whether a compaction has saved its price, after some requests. */
function isPaid(
  { weight, leftOver, dollars }: Compaction,
  requests: number,
  prices: Prices,
  model: string,
  nowMs: number,
): boolean {
  const price = prices.of(model, nowMs);
  return price !== null && ((weight - leftOver) * price.read * requests) / 1_000_000 > dollars;
}
