import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import type { CollectedRequest, HeadSums } from 'mcp-pruner/core/ports/segments.ts';
import { conversationKey } from '../keys.ts';

/** An answer in a conversation, or a request whose answer is not known: its time, request head, and cache lifetime. */
export interface LastAnswer extends HeadSums {
  readonly atMs: number;
  /** Time after which the provider drops its cache; `Infinity` if caching is not time-based. */
  readonly lifetimeMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Providers drop caches later than documented: five minutes are added, or one to the shortest lifetime. */
const MARGIN_MS = 5 * MINUTE_MS;
const SHORT_MS = 6 * MINUTE_MS;
const UNKNOWN_MS = 30 * MINUTE_MS;
/** After a pause that the cache outlived, caches of the model are taken to live so much longer, up to a limit. */
const LEARNED_MS = 10 * MINUTE_MS;
const MOST_LEARNED_MS = HOUR_MS;
/** Minimum share of the input that is read from a warm cache. */
const WARM_SHARE = 0.6;
const MAX_MODELS = 1_000;
/** The longest lifetime of a breakpoint. */
const LONGEST_MS = HOUR_MS + MARGIN_MS;
/** Number of turns read to determine the cache lifetime. */
const TURNS = 20;
const MAX_CONVERSATIONS = 10_000;
/** Maximum number of remembered models and heads per conversation. */
const MAX_HEADS = 6;
/** A conversation is recorded as sent at most this often per head; shorter than every margin above. */
const SENT_MS = MINUTE_MS;

type Facts = Pick<RequestFacts, 'project' | 'conversationId' | 'wire' | 'cacheUpTo' | 'cacheHourUpTo'> &
  Partial<Pick<RequestFacts, 'usage' | 'retentionHours'>> &
  HeadSums;

interface LastAnswersOptions {
  readonly ledger: Pick<LedgerStore, 'turns' | 'noteSent' | 'lastSent'>;
  /** Whether requests of a project are recorded. */
  readonly isOn: (project: string) => boolean;
  /** Unique name of this process. */
  readonly process: string;
  readonly onFailure: FailureReporter;
}

/**
 * Remembers the last answer of each conversation per request head: side requests of a client (a title, a plan by
 * another model) have separate caches. Answers before a restart and of other processes come from the ledger. It lacks
 * their tools and instructions, and it is written seconds later, or never if the process is killed. So each request is
 * also recorded before it is sent.
 */
export class LastAnswers {
  readonly #options: LastAnswersOptions;
  readonly #noted = new BoundedMap<string, readonly LastAnswer[]>(MAX_CONVERSATIONS);
  /** Tokens that would have been put aside at the last request, by conversation. */
  readonly #measured = new BoundedMap<string, number>(MAX_CONVERSATIONS);

  /** Learned lifetimes of caches, by wire and model. A cold cache never shortens them: a router may cause that. */
  readonly #learned = new BoundedMap<string, number>(MAX_MODELS);
  /** When each head of a conversation was last recorded as sent. */
  readonly #recorded = new BoundedMap<string, number>(MAX_CONVERSATIONS);

  constructor(options: LastAnswersOptions) {
    this.#options = options;
  }

  /** Records that a conversation is being sent. Not awaited: the next turn only begins after the answer. */
  sending({ scope: { project }, conversationId, head, nowMs }: CollectedRequest): void {
    const { ledger, isOn, process, onFailure } = this.#options;
    if (conversationId === '' || !isOn(project)) return;
    const conversation = conversationKey(project, conversationId);
    const { model, tools, system, summary = '' } = head();
    const key = [conversation, model, tools, system, summary].join('\n');
    const before = this.#recorded.get(key);
    if (before !== undefined && Math.abs(nowMs - before) < SENT_MS) return;
    this.#recorded.set(key, nowMs);
    const answers = this.#noted.get(conversation) ?? [];
    const lifetimeMs = answers.find((answer) => answer.model === model)?.lifetimeMs ?? null;
    const sent = { atMs: nowMs, lifetimeMs: Number.isFinite(lifetimeMs) ? lifetimeMs : null, process };
    ledger.noteSent(project, conversationId, { ...sent, model, tools, system, summary }).catch((cause: unknown) => {
      this.#recorded.delete(key);
      onFailure('not_collected', cause);
    });
  }

  /** Answers known to this process, newest first; `undefined` if the ledger may have more. */
  known(project: string, conversationId: string): readonly LastAnswer[] | undefined {
    return this.#noted.get(conversationKey(project, conversationId));
  }

  /**
   * Records an answer.
   *
   * @param atMs - when it ended
   * @param isLocal - whether the upstream is local and its cache has no time limit
   * @param tookMs - time since its request arrived
   */
  note(facts: Facts, atMs: number, isLocal: boolean, tookMs = 0): void {
    const { project, conversationId, wire, model, tools, system, summary = '' } = facts;
    const key = conversationKey(project, conversationId);
    const answers = this.#noted.get(key) ?? [];
    const head = { model, tools, system, summary };
    const before = answers.find((one) => isSame(one, head));
    if (before !== undefined) this.#learn(facts, atMs - tookMs - before.atMs);
    const lifetimeMs = isLocal ? Number.POSITIVE_INFINITY : this.#learnedOr(wire, model, lifetimeOf(facts));
    const others = answers.filter((one) => !isSame(one, head));
    const latest = [{ atMs, lifetimeMs, ...head }, ...others].slice(0, MAX_HEADS);
    this.#noted.set(key, latest);
  }

  /** Learns from a request after a pause that found its history in the cache. */
  #learn({ wire, model, usage }: Facts, pauseMs: number): void {
    const { input, read } = usage ?? {};
    if (typeof input !== 'number' || typeof read !== 'number' || read < WARM_SHARE * input) return;
    const lifetimeMs = Math.min(pauseMs + LEARNED_MS, MOST_LEARNED_MS);
    const known = this.#learnedOr(wire, model, UNKNOWN_MS);
    if (lifetimeMs > known) this.#learned.set(`${wire} ${model}`, lifetimeMs);
  }

  #learnedOr(wire: string, model: string, lifetimeMs: number): number {
    return lifetimeMs === UNKNOWN_MS ? (this.#learned.get(`${wire} ${model}`) ?? lifetimeMs) : lifetimeMs;
  }

  /** Tokens that would have been put aside in the answered request. Returned only once. */
  takeMeasured(project: string, conversationId: string): number {
    const key = conversationKey(project, conversationId);
    const tokens = this.#measured.get(key) ?? 0;
    this.#measured.delete(key);
    return tokens;
  }

  measure(project: string, conversationId: string, tokens: number): void {
    const key = conversationKey(project, conversationId);
    this.#measured.set(key, (this.#measured.get(key) ?? 0) + tokens);
  }

  /**
   * Adds what only the store has: for each head the last request, and for each model the last answer, from before this
   * process's records or from another process since.
   *
   * @returns newest first; empty if there are none
   * @throws StoreUnavailable
   */
  async read(
    project: string,
    conversationId: string,
    isLocal: (wire: string) => boolean,
    wire: string,
  ): Promise<readonly LastAnswer[]> {
    const { ledger } = this.#options;
    const [turns, sent] = await Promise.all([
      ledger.turns({ conversationId, project, newestFirst: true, limit: TURNS }),
      ledger.lastSent(project, conversationId),
    ]);
    const key = conversationKey(project, conversationId);
    const answers = this.#noted.get(key) ?? [];
    const unknownMs = isLocal(wire) ? Number.POSITIVE_INFINITY : wire === 'messages' ? LONGEST_MS : UNKNOWN_MS;
    const byModel = new Map(turns.toReversed().map((turn) => [turn.model, turn]));
    const billed = [...byModel.values()].map(({ atMs, model, wire: wireOfTurn }): LastAnswer => {
      const written = turns.find((turn) => turn.model === model && turn.write5m + turn.write1h > 0);
      const breakpoint = written && (written.write1h > 0 ? 'hour' : 'minutes');
      const lifetimeMs = isLocal(wireOfTurn)
        ? Number.POSITIVE_INFINITY
        : this.#learnedOr(wireOfTurn, model, breakpointLifetime(wireOfTurn === 'messages' ? breakpoint : undefined));
      return { atMs, lifetimeMs, model, tools: '', system: '' };
    });
    const requests = sent
      // this process knows which of its own requests were answered
      .filter((one) => one.process !== this.#options.process)
      .filter((one) => !answers.some((answer) => isSame(answer, one) && answer.atMs >= one.atMs))
      .map(({ lifetimeMs, process: _, ...one }): LastAnswer => {
        const known = lifetimeMs ?? billed.find(({ model }) => model === one.model)?.lifetimeMs;
        return { ...one, lifetimeMs: known ?? this.#learnedOr(wire, one.model, unknownMs) };
      });
    const newer = [...answers, ...requests];
    const others = billed.filter(({ model, atMs }) => !newer.some((one) => one.model === model && one.atMs >= atMs));
    const all = [...newer, ...others].toSorted((a, b) => b.atMs - a.atMs).slice(0, MAX_HEADS);
    if (all.length > 0) this.#noted.set(key, all);
    return all;
  }
}

/** Whether an answer belongs to this head. Unknown fields match anything, and so does a request without a model. */
export function hasHead(answer: HeadSums, { model, tools, system, summary = '' }: HeadSums): boolean {
  const fits = (known: string, now: string): boolean => known === '' || now === '' || known === now;
  const isCompacted = answer.summary !== undefined && answer.summary !== summary;
  return (
    (model === '' || answer.model === model) && fits(answer.tools, tools) && fits(answer.system, system) && !isCompacted
  );
}

function isSame(a: HeadSums, b: HeadSums): boolean {
  return a.model === b.model && a.tools === b.tools && a.system === b.system && a.summary === b.summary;
}

function lifetimeOf({ wire, cacheUpTo, cacheHourUpTo, retentionHours }: Facts): number {
  if (retentionHours !== undefined) return retentionHours * HOUR_MS + MARGIN_MS;
  if (wire !== 'messages') return UNKNOWN_MS;
  return breakpointLifetime((cacheHourUpTo ?? null) !== null ? 'hour' : cacheUpTo !== null ? 'minutes' : undefined);
}

function breakpointLifetime(breakpoint: 'hour' | 'minutes' | undefined): number {
  if (breakpoint === 'hour') return LONGEST_MS;
  return breakpoint === 'minutes' ? SHORT_MS : UNKNOWN_MS;
}
