import { together, type Work, waitFor } from '../../base/work.ts';
import type { FallbackCode } from '../../errors/errors.ts';
import { pruneIdOf } from '../hash.ts';
import type { Decision, LineScorer, NewDecision, Scored, SentMessage } from '../ports.ts';
import { askAboutAll, backendTime } from './ask-backend.ts';
import { decide, decisionKey, isLate, type Job } from './decision.ts';
import type { DecisionCache, LookedUpAhead, Stored } from './decision-cache.ts';
import { limitReached, type Patience, patienceOf, type TimeLimit } from './time-limits.ts';
import { Turns } from './turns.ts';

/** Share of the interval of `patienceOf` for which a commit waits: its error is known before the patience ends. */
const STORE_SHARE = 0.8;

/** Decides about texts, on this thread or on a worker thread. */
export interface Decider {
  /** Like `decide`, within a time limit. */
  decide(job: Job, key: string, limit: TimeLimit, scores: Float64Array | null): Decision | Promise<Decision>;
}

/** Decides on the main thread, yielding to other work between time slices. */
export class MainThreadDecider implements Decider {
  readonly #turns: Turns;
  readonly #onDecided: () => void;

  /**
   * @param turns - scheduler shared by all long-running work on this thread
   * @param onDecided - called after each decision; must not throw
   */
  constructor(turns = new Turns(), onDecided = (): void => undefined) {
    this.#turns = turns;
    this.#onDecided = onDecided;
  }

  decide(job: Job, key: string, limit: TimeLimit, scores: Float64Array | null): Decision | Promise<Decision> {
    return this.#turns.run(() => {
      try {
        return decide(job, key, limitReached(limit), scores);
      } finally {
        this.#onDecided();
      }
    });
  }
}

interface DecisionMakerOptions {
  readonly decisionCache: DecisionCache;
  /**
   * `MCP_PRUNER_TIMEOUT_MS`: the CPU time for one text, the time for a backend and for another writer of the store, and
   * the interval of `patienceOf`.
   */
  readonly timeoutMs: number;
  /** Backend that scores lines. If absent, the engine ranks alone. */
  readonly scorer?: LineScorer;
}

/** Decisions in the order of their jobs. They must be durable before any part of them is sent. */
export interface Decided {
  readonly decisions: readonly Decision[];
  /** The decisions that the store does not have yet. */
  readonly fresh: readonly NewDecision[];
  /** One code for each text that was not decided as planned: `timeout`, or why a backend returned no scores. */
  readonly fallbacks: readonly string[];
}

/**
 * Decides about the texts of requests. A backend scores only texts without a decision, and only its first scores count:
 * the key contains the backend's name, not its scores.
 */
export class DecisionMaker {
  readonly #options: DecisionMakerOptions;
  /** See `DecisionCache.trustMs`. */
  readonly trustMs: number;

  constructor(options: DecisionMakerOptions) {
    this.#options = options;
    this.trustMs = options.decisionCache.trustMs;
  }

  /** How long a request waits for all its decisions. */
  patienceOf(verifiesHistory: boolean): Patience {
    return patienceOf(this.#options.timeoutMs, verifiesHistory);
  }

  /** Deadline for backend answers to a request whose decisions start now, on the `performance.now()` clock. */
  backendDeadline(): number {
    return performance.now() + backendTime(this.#options.timeoutMs);
  }

  /**
   * Decides about texts. New decisions must be stored before anything is sent. If a backend times out, the engine ranks
   * alone, and a late answer of the backend never changes that decision. A text whose decision timed out stays whole,
   * and is decided again in the next conversation that contains it.
   *
   * @param backendDeadline - shared by all calls for one request
   * @param ahead - what was looked up before
   * @throws StoreUnavailable if earlier decisions cannot be read
   */
  *decideAll(jobs: readonly Job[], backendDeadline = this.backendDeadline(), ahead?: LookedUpAhead): Work<Decided> {
    const keys = jobs.map((job) => this.#keyOf(job));
    const known = yield* this.#options.decisionCache.find([...new Set(keys)], ahead);
    const { made, fallbacks } = yield* this.#decideNew(jobs, keys, known, backendDeadline);
    for (const { decision } of made) known.set(decision.key, decision);
    const fresh = made.filter(({ decision }) => !isLate(decision));
    return { decisions: keys.flatMap((key) => known.get(key) ?? []), fresh, fallbacks };
  }

  /**
   * See `DecisionCache.makeDurable`.
   *
   * @param conversation - the conversation whose quota the originals count against
   * @param owner - the project that owns them, if originals belong to projects
   */
  makeDurable(
    fresh: readonly NewDecision[],
    sent: readonly SentMessage[],
    conversation: string,
    owner?: string,
  ): Work<Stored> {
    const of = { conversation: conversation || undefined, owner };
    const batch = { decisions: fresh, touch: [], sent, ...of };
    return this.#options.decisionCache.makeDurable(batch, this.#options.timeoutMs * STORE_SHARE);
  }

  /**
   * Stored decisions about jobs. Later events, such as a recovery, do not change them.
   *
   * @throws StoreUnavailable
   */
  *decided(jobs: readonly Job[], ahead?: LookedUpAhead): Work<Map<Job, Decision>> {
    const keys = jobs.map((job) => this.#keyOf(job));
    const known = yield* this.#options.decisionCache.find([...new Set(keys)], ahead);
    return new Map(
      jobs.flatMap((job, i): [Job, Decision][] => {
        const decision = known.get(keys[i] ?? '');
        return decision ? [[job, decision]] : [];
      }),
    );
  }

  /** Decides without the store, for a dry run. */
  *decideDry(jobs: readonly Job[]): Work<readonly Decision[]> {
    const keys = jobs.map((job) => this.#keyOf(job));
    const { made } = yield* this.#decideNew(jobs, keys, new Map(), this.backendDeadline());
    const byKey = new Map(made.map(({ decision }) => [decision.key, decision]));
    return keys.flatMap((key) => byKey.get(key) ?? []);
  }

  /** All keys under which a decision about the jobs may be stored. */
  keysOf(jobs: readonly Job[]): readonly string[] {
    return [...new Set(jobs.map((job) => this.#keyOf(job)))];
  }

  /** The prune id that a job's text would get. */
  pruneIdOf(job: Job): string {
    return pruneIdOf(this.#keyOf(job));
  }

  #keyOf(job: Job): string {
    return decisionKey(job, this.#options.scorer?.name);
  }

  /** Returns cached decisions for texts that the store does not have, and makes the missing ones. */
  *#decideNew(
    jobs: readonly Job[],
    keys: readonly string[],
    known: ReadonlyMap<string, Decision>,
    backendDeadline: number,
  ): Work<{ readonly made: readonly NewDecision[]; readonly fallbacks: readonly string[] }> {
    const open = new Map<string, Job>();
    for (const [i, job] of jobs.entries()) {
      const key = keys[i] ?? '';
      if (!known.has(key)) open.set(key, job);
    }
    if (open.size === 0) return { made: [], fallbacks: [] };
    const { decisionCache, timeoutMs } = this.#options;
    const scored = yield* this.#scoresFor(open, backendDeadline);
    const made = yield* together(
      [...open].map(([key, job]) =>
        decisionCache.make(key, { job, scores: scored.get(key)?.scores ?? null }, { cpuMs: timeoutMs }),
      ),
    );
    decisionCache.remember(made);
    const late = made.flatMap(({ decision }) => (isLate(decision) ? ('timeout' satisfies FallbackCode) : []));
    return { made, fallbacks: [...late, ...[...scored.values()].flatMap(failureOf)] };
  }

  /** Backend scores, if a backend is configured, for texts without a cached decision. */
  *#scoresFor(open: ReadonlyMap<string, Job>, deadline: number): Work<ReadonlyMap<string, Scored>> {
    const { scorer, decisionCache } = this.#options;
    if (scorer === undefined) return new Map();
    const unknown = new Map([...open].filter(([key]) => !decisionCache.remembers(key)));
    return yield* waitFor(askAboutAll(scorer, unknown, deadline));
  }
}

/** The most specific failure code of a backend that returned no scores. */
function failureOf({ scores, warnings }: Scored): readonly string[] {
  return scores === null ? warnings.slice(-1) : [];
}
