import { LRUCache } from 'lru-cache';
import { askAboutAll, backendTime } from './ask-backend.ts';
import { decisionKey, type Job } from './decide.ts';
import { DecideHere, type Decider } from './decider.ts';
import { pruneIdOf } from './hash.ts';
import type { SentMessage } from './ports/sent.ts';
import type { Clock, Decision, LineScorer, NewDecision, Scored, Store } from './ports.ts';

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
  /** The backend that has a say; without one the engine ranks alone. */
  readonly scorer?: LineScorer;
  /** Who decides; by default it is done here. */
  readonly decider?: Decider;
}

/** What was decided about jobs, in their order. Nothing of it may go out before `makeDurable`. */
export interface Decided {
  readonly decisions: readonly Decision[];
  /** Those of them that the store does not have. */
  readonly fresh: readonly NewDecision[];
  /** Why the engine ranked alone where a backend was to be asked: a code for each text decided now. */
  readonly fallbacks: readonly string[];
}

/** What became of decisions that were to be stored. */
export interface Stored {
  /** The decision that holds in the place of one of them, by its key: another was stored first. */
  readonly instead: ReadonlyMap<string, Decision>;
  /** Keys of those that could not be stored: their texts go whole. */
  readonly refused: ReadonlySet<string>;
  /** Something else was sent of one of the messages before. */
  readonly sentBefore: boolean;
}

/** What was decided now. */
interface Fresh {
  readonly made: readonly NewDecision[];
  readonly fallbacks: readonly string[];
}

/** Ids whose expiry is less than this share of the TTL old are not slid again. */
const SLIDE_SHARE = 1 / 8;

/**
 * Makes each decision once and replays it for ever: memory first, then the store, and only then the engine. What it
 * hands out is durable: the originals behind its prune ids are in the store.
 */
export class DecisionMaker {
  readonly #options: DecisionMakerOptions;
  readonly #memo: LRUCache<string, Remembered>;
  readonly #decider: Decider;

  constructor(options: DecisionMakerOptions) {
    this.#options = options;
    this.#decider = options.decider ?? new DecideHere();
    this.#memo = new LRUCache({
      maxSize: Math.max(1, Math.floor(options.memoBytes)),
      sizeCalculation: ({ decision }) =>
        800 + decision.goal.length + (decision.basis?.hints.command?.length ?? 0) + 120 * decision.cuts.length,
    });
  }

  /** How long after being stored a decision counts as stored without asking, in milliseconds. */
  get trustMs(): number {
    return this.#options.ttlMs * SLIDE_SHARE;
  }

  /** How long to wait for decisions in all, those of other processes included, in milliseconds. */
  get patienceMs(): number {
    return this.#options.timeoutMs * 1.5;
  }

  /** When deciding that begins now must be done, of `performance.now()`. */
  deadline(): number {
    return performance.now() + this.#options.timeoutMs;
  }

  /**
   * Decides about texts; what is new must be made durable before it is sent. A backend that is slow does not make it slower than the time-out: the engine then
   * ranks alone, and that is the decision which is replayed, whatever the backend says later.
   *
   * @param deadline - until when the deciding may take, of `performance.now()`; several calls for one request share it
   * @throws StoreUnavailable when it cannot be told what was decided before
   */
  async decideAll(jobs: readonly Job[], deadline = this.deadline()): Promise<Decided> {
    const { store, clock } = this.#options;
    const epoch = store.epoch();
    const now = clock.nowMs();
    const keys = jobs.map((job) => this.#keyOf(job));
    const known = this.#remembered(keys, epoch, now);
    const asked = keys.filter((key) => !known.has(key));
    const found = asked.length > 0 ? await store.findDecisions(asked) : new Map<string, Decision>();
    for (const [key, decision] of found) known.set(key, decision);
    for (const [key, decision] of found) this.#memo.set(key, { decision, epoch, storedAtMs: now });
    const { made, fallbacks } = await this.#decideNew(jobs, keys, known, deadline);
    for (const { decision } of made) {
      known.set(decision.key, decision);
      // made once, even where it cannot be stored now
      this.#memo.set(decision.key, { decision, epoch: '', storedAtMs: 0 });
    }
    return { decisions: keys.flatMap((key) => known.get(key) ?? []), fresh: made, fallbacks };
  }

  /**
   * Makes decisions durable with their originals, and with them what is about to be sent of messages: all in one
   * transaction. Two requests at once may have come to different decisions (a backend's, or one ran out of time): the
   * first to be stored is the one that all use, and nothing is noted as sent then.
   *
   * @param conversation - whose originals they are
   * @throws StoreUnavailable when nothing was stored
   */
  async makeDurable(
    fresh: readonly NewDecision[],
    sent: readonly SentMessage[],
    conversation: string,
  ): Promise<Stored> {
    const nothing = { instead: new Map<string, Decision>(), refused: new Set<string>(), sentBefore: false };
    if (fresh.length === 0 && sent.length === 0) return nothing;
    const { store, clock, timeoutMs } = this.#options;
    const epoch = store.epoch();
    const batch = { decisions: fresh, touch: [], sent, ...(conversation !== '' && { conversation }) };
    const { refused, known, sentBefore = [] } = await store.commit(batch, timeoutMs);
    const instead = known.length > 0 ? await store.findDecisions(known) : nothing.instead;
    const storedAtMs = clock.nowMs();
    for (const { decision } of fresh) {
      if (refused.includes(decision.key)) continue;
      this.#memo.set(decision.key, { decision: instead.get(decision.key) ?? decision, epoch, storedAtMs });
    }
    return { instead, refused: new Set(refused), sentBefore: sentBefore.length > 0 };
  }

  /**
   * The decisions that were made about jobs before, exactly as they stand here. Nothing that became known since (a text
   * was recovered, a prune id came up) may turn them.
   *
   * @throws StoreUnavailable
   */
  async decided(jobs: readonly Job[]): Promise<Map<Job, Decision>> {
    const { store, clock } = this.#options;
    const keys = jobs.map((job) => this.#keyOf(job));
    const known = this.#remembered(keys, store.epoch(), clock.nowMs());
    const asked = keys.filter((key) => !known.has(key));
    const found = asked.length > 0 ? await store.findDecisions(asked) : new Map<string, Decision>();
    return new Map(
      jobs.flatMap((job, i): [Job, Decision][] => {
        const decision = known.get(keys[i] ?? '') ?? found.get(keys[i] ?? '');
        return decision ? [[job, decision]] : [];
      }),
    );
  }

  /** The same without a store: what would be decided, for a proxy that only watches. */
  async decideDry(jobs: readonly Job[]): Promise<readonly Decision[]> {
    const keys = jobs.map((job) => this.#keyOf(job));
    const { made } = await this.#decideNew(jobs, keys, new Map(), this.deadline());
    for (const { decision } of made) this.#memo.set(decision.key, { decision, epoch: '', storedAtMs: 0 });
    const byKey = new Map(made.map(({ decision }) => [decision.key, decision]));
    return keys.flatMap((key) => byKey.get(key) ?? []);
  }

  /** Decisions in memory that are known to be stored still. */
  #remembered(keys: readonly string[], epoch: string, now: number): Map<string, Decision> {
    const known = new Map<string, Decision>();
    for (const key of keys) {
      const entry = this.#memo.get(key);
      if (entry && this.#trusted(entry, epoch, now)) known.set(key, entry.decision);
    }
    return known;
  }

  #trusted(entry: Remembered, epoch: string, now: number): boolean {
    const age = now - entry.storedAtMs;
    return entry.epoch === epoch && age >= 0 && age < this.trustMs;
  }

  /** The id that a job's text gets if it is cut. */
  pruneIdOf(job: Job): string {
    return pruneIdOf(this.#keyOf(job));
  }

  #keyOf(job: Job): string {
    return decisionKey(job, this.#options.scorer?.name);
  }

  /** Decisions that the store does not have: remembered ones as they were, the others made now. */
  async #decideNew(
    jobs: readonly Job[],
    keys: readonly string[],
    known: ReadonlyMap<string, Decision>,
    deadline: number,
  ): Promise<Fresh> {
    const open = new Map<string, Job>();
    for (const [i, job] of jobs.entries()) {
      const key = keys[i] ?? '';
      if (!known.has(key)) open.set(key, job);
    }
    const scored = await this.#ask(open, deadline);
    const made = await Promise.all(
      [...open].map(async ([key, job]): Promise<NewDecision> => {
        const opinions = scored.get(key)?.opinions ?? null;
        const known = this.#memo.get(key)?.decision;
        return { decision: known ?? (await this.#decider.decide(job, key, deadline, opinions)), text: job.text };
      }),
    );
    return { made, fallbacks: [...scored.values()].flatMap(failureOf) };
  }

  /** What the backend, if there is one, thinks of texts that nothing is remembered of. */
  async #ask(open: ReadonlyMap<string, Job>, deadline: number): Promise<ReadonlyMap<string, Scored>> {
    const { scorer } = this.#options;
    if (scorer === undefined) return new Map();
    const unknown = new Map([...open].filter(([key]) => !this.#memo.has(key)));
    const now = performance.now();
    return askAboutAll(scorer, unknown, now + backendTime(deadline - now));
  }
}

/** The most precise code of a backend that was asked in vain. */
function failureOf({ opinions, warnings }: Scored): readonly string[] {
  return opinions === null ? warnings.slice(-1) : [];
}
