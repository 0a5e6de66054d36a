import type { FallbackCode } from '../../errors/errors.ts';
import { pruneIdOf } from '../hash.ts';
import type { SentMessage } from '../ports/sent.ts';
import type { Decision, LineScorer, NewDecision, Scored } from '../ports.ts';
import { askAboutAll, backendTime } from './ask-backend.ts';
import { decide, decisionKey, isLate, type Job } from './decision.ts';
import type { DecisionCache, Stored } from './decision-cache.ts';
import { limitReached, type Patience, patienceOf, type TimeLimit } from './time-limits.ts';
import { Turns } from './turns.ts';

/** Decides about texts, on this thread or on a worker. */
export interface Decider {
  /** As `decide`, within a time limit. */
  decide(job: Job, key: string, limit: TimeLimit, scores: Float64Array | null): Promise<Decision>;
}

/** Decides on the main thread, taking turns with other work. */
export class MainThreadDecider implements Decider {
  readonly #turns: Turns;

  /** @param turns - shared by all long work on this thread */
  constructor(turns = new Turns()) {
    this.#turns = turns;
  }

  decide(job: Job, key: string, limit: TimeLimit, scores: Float64Array | null): Promise<Decision> {
    return this.#turns.run(() => decide(job, key, limitReached(limit), scores));
  }
}

export interface DecisionMakerOptions {
  readonly decisionCache: DecisionCache;
  /**
   * `MCP_PRUNER_TIMEOUT_MS`: the CPU time for one text, the time for a backend and for another writer of the store, and
   * the interval of `patienceOf`.
   */
  readonly timeoutMs: number;
  /** The backend that scores lines; without one the engine ranks alone. */
  readonly scorer?: LineScorer;
}

/** Decisions about jobs, in their order. They must be durable before anything of them is sent. */
export interface Decided {
  readonly decisions: readonly Decision[];
  /** The decisions that the store does not have yet. */
  readonly fresh: readonly NewDecision[];
  /** For each text that was not decided as planned a code: `timeout`, or why a backend gave no scores. */
  readonly fallbacks: readonly string[];
}

/**
 * Decides about the texts of requests. A backend scores only texts without a decision, and only its first scores count:
 * the key contains the backend's name, not its scores.
 */
export class DecisionMaker {
  readonly #options: DecisionMakerOptions;

  constructor(options: DecisionMakerOptions) {
    this.#options = options;
  }

  /** As `DecisionCache.trustMs`. */
  get trustMs(): number {
    return this.#options.decisionCache.trustMs;
  }

  /** How long a request waits for all its decisions. */
  patienceOf(verifiesHistory: boolean): Patience {
    return patienceOf(this.#options.timeoutMs, verifiesHistory);
  }

  /** When backends must have answered a request that is decided from now on, by `performance.now()`. */
  backendDeadline(): number {
    return performance.now() + backendTime(this.#options.timeoutMs);
  }

  /**
   * Decides about texts. New decisions must be stored before anything is sent. If a backend does not answer within the
   * time-out, the engine ranks alone. That decision is replayed, whatever the backend answers later. A text that took
   * too much time stays whole, and is decided again in the next conversation that has it.
   *
   * @param backendDeadline - several calls for one request share it
   * @throws StoreUnavailable if earlier decisions cannot be read
   */
  async decideAll(jobs: readonly Job[], backendDeadline = this.backendDeadline()): Promise<Decided> {
    const keys = jobs.map((job) => this.#keyOf(job));
    const known = await this.#find(jobs, keys);
    const { made, fallbacks } = await this.#decideNew(jobs, keys, known, backendDeadline);
    for (const { decision } of made) known.set(decision.key, decision);
    const fresh = made.filter(({ decision }) => !isLate(decision));
    return { decisions: keys.flatMap((key) => known.get(key) ?? []), fresh, fallbacks };
  }

  /**
   * As `DecisionCache.makeDurable`.
   *
   * @param conversation - the conversation that the originals count against
   * @param owner - the project that owns them, if originals belong to projects
   */
  makeDurable(
    fresh: readonly NewDecision[],
    sent: readonly SentMessage[],
    conversation: string,
    owner?: string,
  ): Promise<Stored> {
    const of = { conversation: conversation || undefined, owner };
    const batch = { decisions: fresh, touch: [], sent, ...of };
    return this.#options.decisionCache.makeDurable(batch, this.#options.timeoutMs);
  }

  /**
   * Stored decisions about jobs, unchanged. Later events, such as a recovery of a text, do not change them.
   *
   * @throws StoreUnavailable
   */
  async decided(jobs: readonly Job[]): Promise<Map<Job, Decision>> {
    const keys = jobs.map((job) => this.#keyOf(job));
    const known = await this.#find(jobs, keys);
    return new Map(
      jobs.flatMap((job, i): [Job, Decision][] => {
        const decision = known.get(keys[i] ?? '');
        return decision ? [[job, decision]] : [];
      }),
    );
  }

  /** Decisions without the store, for a dry run. */
  async decideDry(jobs: readonly Job[]): Promise<readonly Decision[]> {
    const keys = jobs.map((job) => this.#keyOf(job));
    const { made } = await this.#decideNew(jobs, keys, new Map(), this.backendDeadline());
    const byKey = new Map(made.map(({ decision }) => [decision.key, decision]));
    return keys.flatMap((key) => byKey.get(key) ?? []);
  }

  /** All keys under which decisions about jobs are looked up. */
  keysOf(jobs: readonly Job[]): readonly string[] {
    const keys = jobs.map((job) => this.#keyOf(job));
    return [...new Set([...keys, ...this.#earlierKeys(jobs, keys)])];
  }

  /** The id that a job's text gets if it is cut. */
  pruneIdOf(job: Job): string {
    return pruneIdOf(this.#keyOf(job));
  }

  /**
   * Stored decisions, by the keys of the jobs. Decisions of older versions, whose keys had no recovery hint, are found
   * as well.
   */
  async #find(jobs: readonly Job[], keys: readonly string[]): Promise<Map<string, Decision>> {
    const earlier = this.#earlierKeys(jobs, keys);
    const stored = await this.#options.decisionCache.find([...new Set([...keys, ...earlier])]);
    const known = new Map<string, Decision>();
    keys.forEach((key, i) => {
      const decision = stored.get(key) ?? stored.get(earlier[i] ?? '');
      if (decision) known.set(key, decision);
    });
    return known;
  }

  #earlierKeys(jobs: readonly Job[], keys: readonly string[]): string[] {
    return jobs.map(({ recoveryHint, ...job }, i) => (recoveryHint ? this.#keyOf(job) : (keys[i] ?? '')));
  }

  #keyOf(job: Job): string {
    return decisionKey(job, this.#options.scorer?.name);
  }

  /** Decisions that the store does not have: cached ones unchanged, the others made now. */
  async #decideNew(
    jobs: readonly Job[],
    keys: readonly string[],
    known: ReadonlyMap<string, Decision>,
    backendDeadline: number,
  ): Promise<{ readonly made: readonly NewDecision[]; readonly fallbacks: readonly string[] }> {
    const open = new Map<string, Job>();
    for (const [i, job] of jobs.entries()) {
      const key = keys[i] ?? '';
      if (!known.has(key)) open.set(key, job);
    }
    if (open.size === 0) return { made: [], fallbacks: [] };
    const { decisionCache, timeoutMs } = this.#options;
    const scored = await this.#scoresFor(open, backendDeadline);
    const made = await Promise.all(
      [...open].map(([key, job]) =>
        decisionCache.make(key, { job, scores: scored.get(key)?.scores ?? null }, { cpuMs: timeoutMs }),
      ),
    );
    decisionCache.remember(made);
    const late = made.flatMap(({ decision }) => (isLate(decision) ? ('timeout' satisfies FallbackCode) : []));
    return { made, fallbacks: [...late, ...[...scored.values()].flatMap(failureOf)] };
  }

  /** Backend scores, if a backend is configured, for texts without a cached decision. */
  async #scoresFor(open: ReadonlyMap<string, Job>, deadline: number): Promise<ReadonlyMap<string, Scored>> {
    const { scorer, decisionCache } = this.#options;
    if (scorer === undefined) return new Map();
    const unknown = new Map([...open].filter(([key]) => !decisionCache.remembers(key)));
    return askAboutAll(scorer, unknown, deadline);
  }
}

/** The most specific failure code of a backend that returned no scores. */
function failureOf({ scores, warnings }: Scored): readonly string[] {
  return scores === null ? warnings.slice(-1) : [];
}
