import { LRUCache } from 'lru-cache';
import { decide, decisionKey, type Job } from './decide.ts';
import type { Clock, Decision, NewDecision, Store } from './ports.ts';

/** A decision with the key it stands under. */
interface Remembered {
  readonly decision: Decision;
  /** The store's epoch in which it was last known to be stored. */
  readonly epoch: string;
  readonly storedAtMs: number;
}

export interface DecisionMakerOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** How long a stored decision lives without being seen, in milliseconds. */
  readonly ttlMs: number;
  /** Longest time that one call may take for deciding, and again for writing, in milliseconds. */
  readonly timeoutMs: number;
  /** Most memory for remembered decisions, in bytes (estimated). */
  readonly memoBytes: number;
}

/** What became of the jobs, in their order: a decision that is durable, or `null` when the text must go whole. */
export interface Decided {
  readonly decisions: readonly (Decision | null)[];
  /** The epoch in which all of `decisions` are stored. */
  readonly epoch: string;
  /** Prune ids that the store refused because they already stand for another text. */
  readonly refused: number;
}

/** Ids whose expiry is less than this share of the TTL old are not slid again. */
const SLIDE_SHARE = 1 / 8;
/** Once a request has computed for this long without a pause, others get a turn. */
const YIELD_AFTER_MS = 20;

/**
 * Makes each decision once and replays it for ever: memory first, then the store, and only then the engine. What it
 * hands out is durable: the originals behind its prune ids are in the store.
 */
export class DecisionMaker {
  readonly #options: DecisionMakerOptions;
  readonly #memo: LRUCache<string, Remembered>;

  constructor(options: DecisionMakerOptions) {
    this.#options = options;
    this.#memo = new LRUCache({
      maxSize: options.memoBytes,
      sizeCalculation: ({ decision }) => 600 + decision.goal.length + 120 * decision.cuts.length,
    });
  }

  /** How long after being stored a decision counts as stored without asking, in milliseconds. */
  get trustMs(): number {
    return this.#options.ttlMs * SLIDE_SHARE;
  }

  /**
   * Decides about texts, durably.
   *
   * @throws StoreUnavailable when nothing can be promised; all texts then go whole
   */
  async decideAll(jobs: readonly Job[]): Promise<Decided> {
    const { store, clock } = this.#options;
    const epoch = store.epoch();
    const now = clock.nowMs();
    const keys = jobs.map((job) => decisionKey(job));
    const known = new Map<string, Decision>();
    for (const key of keys) {
      const entry = this.#memo.get(key);
      if (entry && this.#trusted(entry, epoch, now)) known.set(key, entry.decision);
    }
    const asked = keys.filter((key) => !known.has(key));
    const found = asked.length > 0 ? await store.findDecisions(asked) : new Map<string, Decision>();
    for (const [key, decision] of found) known.set(key, decision);
    const fresh = await this.#decideNew(jobs, keys, known);
    const refused = await this.#makeDurable(fresh);
    for (const { decision } of fresh) if (!refused.has(decision.key)) known.set(decision.key, decision);
    for (const key of asked) {
      const decision = known.get(key);
      if (decision) this.#memo.set(key, { decision, epoch, storedAtMs: now });
    }
    return { decisions: keys.map((key) => known.get(key) ?? null), epoch, refused: refused.size };
  }

  /** The same without a store: what would be decided, for a proxy that only watches. */
  async decideDry(jobs: readonly Job[]): Promise<readonly Decision[]> {
    const keys = jobs.map((job) => decisionKey(job));
    const fresh = await this.#decideNew(jobs, keys, new Map());
    for (const { decision } of fresh) this.#memo.set(decision.key, { decision, epoch: '', storedAtMs: 0 });
    const byKey = new Map(fresh.map(({ decision }) => [decision.key, decision]));
    return keys.flatMap((key) => byKey.get(key) ?? []);
  }

  #trusted(entry: Remembered, epoch: string, now: number): boolean {
    const age = now - entry.storedAtMs;
    return entry.epoch === epoch && age >= 0 && age < this.trustMs;
  }

  /** Decisions that the store does not have: remembered ones as they were, the others made now. */
  async #decideNew(
    jobs: readonly Job[],
    keys: readonly string[],
    known: ReadonlyMap<string, Decision>,
  ): Promise<NewDecision[]> {
    const deadline = performance.now() + this.#options.timeoutMs;
    const fresh = new Map<string, NewDecision>();
    let lastPause = performance.now();
    for (const [i, job] of jobs.entries()) {
      const key = keys[i] ?? '';
      if (known.has(key) || fresh.has(key)) continue;
      const decision = this.#memo.get(key)?.decision ?? decide(job, key, () => performance.now() > deadline);
      fresh.set(key, { decision, text: job.text });
      if (performance.now() - lastPause > YIELD_AFTER_MS) {
        await new Promise((resume) => setImmediate(resume));
        lastPause = performance.now();
      }
    }
    return [...fresh.values()];
  }

  /** Writes what is new; returns the keys of what the store refused. */
  async #makeDurable(fresh: readonly NewDecision[]): Promise<Set<string>> {
    if (fresh.length === 0) return new Set();
    const { refused } = await this.#options.store.commit({ decisions: fresh, touch: [] }, this.#options.timeoutMs);
    return new Set(refused);
  }
}
