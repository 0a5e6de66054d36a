import { LRUCache } from 'lru-cache';
import { type Work, waitFor } from '../../base/work.ts';
import type { Clock, Decision, LookedUp, NewDecision, Store, StoreBatch } from '../ports.ts';
import { isLate, type Job } from './decision.ts';
import { type Decider, MainThreadDecider } from './decision-maker.ts';
import type { TimeLimit } from './time-limits.ts';

/** A cached decision, and whether it is stored. */
interface CachedDecision {
  readonly decision: Decision;
  /** Store epoch in which the decision was last known to be stored; `''` if it is not stored. */
  readonly epoch: string;
  readonly storedAtMs: number;
}

interface DecisionCacheOptions {
  readonly store: Pick<Store, 'epoch' | 'lookUp' | 'pack' | 'commit'>;
  readonly clock: Clock;
  /** Lifetime of a stored decision after its last use, in milliseconds. */
  readonly ttlMs: number;
  /** Memory limit for cached decisions, in bytes (estimated). */
  readonly memoBytes: number;
  /** The decider to use. Default: on this thread. */
  readonly decider?: Decider;
}

/** A text to decide about, with a backend's scores of its lines, or `null`. */
export interface Question {
  readonly job: Job;
  readonly scores: Float64Array | null;
}

/** Decisions and served texts that were looked up together with the records of a request. */
export interface LookedUpAhead extends Pick<LookedUp, 'decisions' | 'served'> {
  /** What was asked for: keys of decisions, and hashes of texts. */
  readonly keys: ReadonlySet<string>;
  readonly hashes: ReadonlySet<string>;
}

/** The outcome of a commit of decisions. */
export interface Stored {
  /** Decisions that another process stored first under the same key, by key. They are used instead. */
  readonly instead: ReadonlyMap<string, Decision>;
  /** Keys of decisions that could not be stored; their texts are forwarded unpruned. */
  readonly refused: ReadonlySet<string>;
  /** Keys of records that were not written because a different record of that message exists. */
  readonly sentBefore: readonly string[];
}

const NOTHING_STORED: Stored = { instead: new Map(), refused: new Set(), sentBefore: [] };

/** An id's expiry is extended only after more than this share of the TTL has passed since the last extension. */
const SLIDE_SHARE = 1 / 8;

/**
 * Makes each decision once and replays it until it expires. Looks it up in memory, then in the store, and calls the
 * engine only if both miss. A new decision must be durable before anything of it leaves the process.
 */
export class DecisionCache {
  readonly #options: DecisionCacheOptions;
  readonly #decider: Decider;
  readonly #memory: LRUCache<string, CachedDecision>;
  /** How long a stored decision is assumed to be still stored without querying the store, in milliseconds. */
  readonly trustMs: number;

  constructor(options: DecisionCacheOptions) {
    this.#options = options;
    this.trustMs = options.ttlMs * SLIDE_SHARE;
    this.#decider = options.decider ?? new MainThreadDecider();
    this.#memory = new LRUCache({
      maxSize: Math.max(1, Math.floor(options.memoBytes)),
      sizeCalculation: ({ decision }) =>
        800 + decision.goal.length + (decision.basis?.hints.command?.length ?? 0) + 120 * decision.cuts.length,
    });
  }

  /**
   * Looks up stored decisions by key, in memory first; unknown keys are absent.
   *
   * @param ahead - what was looked up before
   * @throws StoreUnavailable
   */
  *find(keys: readonly string[], ahead?: LookedUpAhead): Work<Map<string, Decision>> {
    const { store, clock } = this.#options;
    const epoch = store.epoch();
    const storedAtMs = clock.nowMs();
    const known = new Map<string, Decision>();
    const asked: string[] = [];
    for (const key of keys) {
      const entry = this.#memory.get(key);
      if (entry && this.#isTrusted(entry, epoch, storedAtMs)) known.set(key, entry.decision);
      else if (ahead?.keys.has(key) !== true) asked.push(key);
      else this.#found(known, ahead.decisions.get(key), epoch, storedAtMs);
    }
    if (asked.length === 0) return known;
    const { decisions } = yield* waitFor(store.lookUp({ keys: asked }));
    for (const decision of decisions.values()) this.#found(known, decision, epoch, storedAtMs);
    return known;
  }

  #found(known: Map<string, Decision>, decision: Decision | undefined, epoch: string, storedAtMs: number): void {
    if (decision === undefined) return;
    known.set(decision.key, decision);
    this.#memory.set(decision.key, { decision, epoch, storedAtMs });
  }

  /** Whether a decision is cached under a key, stored or not. If so, no backend is queried. */
  remembers(key: string): boolean {
    return this.#memory.has(key);
  }

  /** Makes a decision for a key that the store does not have, or returns the cached one. */
  *make(key: string, { job, scores }: Question, limit: TimeLimit): Work<NewDecision> {
    const known = this.#memory.get(key)?.decision;
    return { decision: known ?? (yield* waitFor(this.#decider.decide(job, key, limit, scores))), text: job.text };
  }

  /** Caches new decisions except those that timed out, whether or not they can be stored. */
  remember(made: readonly NewDecision[]): void {
    for (const { decision } of made) {
      if (!isLate(decision)) this.#memory.set(decision.key, { decision, epoch: '', storedAtMs: 0 });
    }
  }

  /**
   * Stores decisions, their originals and the sent-message records in one transaction. Concurrent requests may decide
   * differently (through a backend). The decision stored first then applies to all, and this commit writes no records.
   *
   * @param waitMs - maximum wait for another writer of the store, in milliseconds
   * @throws StoreUnavailable if nothing was stored
   */
  *makeDurable(batch: StoreBatch, waitMs: number): Work<Stored> {
    const { decisions, touch, sent = [] } = batch;
    if (decisions.length === 0 && touch.length === 0 && sent.length === 0) return NOTHING_STORED;
    const { store } = this.#options;
    const packed = store.pack ? yield* waitFor(store.pack(batch)) : batch;
    const epoch = store.epoch();
    const committed = yield* waitFor(store.commit(packed, waitMs));
    const refused = new Set(committed.refused);
    const { known: keys } = committed;
    const instead =
      committed.decisions ??
      (keys.length > 0 ? (yield* waitFor(store.lookUp({ keys }))).decisions : NOTHING_STORED.instead);
    const nothing = batch.wholeOrNothing === true && refused.size > 0;
    if (!nothing) this.#rememberStored(decisions, epoch, refused, instead);
    return { instead, refused, sentBefore: committed.sentBefore ?? [] };
  }

  #rememberStored(
    decisions: readonly NewDecision[],
    epoch: string,
    refused: ReadonlySet<string>,
    instead: ReadonlyMap<string, Decision>,
  ): void {
    const storedAtMs = this.#options.clock.nowMs();
    for (const { decision } of decisions) {
      const { key } = decision;
      if (!refused.has(key)) this.#memory.set(key, { decision: instead.get(key) ?? decision, epoch, storedAtMs });
    }
  }

  #isTrusted({ epoch, storedAtMs }: CachedDecision, now: string, nowMs: number): boolean {
    const age = nowMs - storedAtMs;
    return epoch === now && age >= 0 && age < this.trustMs;
  }
}
