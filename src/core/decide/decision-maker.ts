import { pruneIdOf } from '../hash.ts';
import type { SentMessage } from '../ports/sent.ts';
import type { Decision, LineScorer, NewDecision, Scored } from '../ports.ts';
import { askAboutAll, backendTime } from './ask-backend.ts';
import { decide, decisionKey, type Job } from './decision.ts';
import type { DecideOnce, Stored } from './once.ts';
import { Turns } from './turns.ts';

/** Decides about texts, wherever that is done. */
export interface Decider {
  /**
   * As `decide`.
   *
   * @param deadline - until when it may take, of `performance.now()`; later the text stays whole (`timeout`)
   */
  decide(job: Job, key: string, deadline: number, scores: Float64Array | null): Promise<Decision>;
}

/** Decides right here, taking turns with whatever else there is to do. */
export class DecideHere implements Decider {
  readonly #turns: Turns;

  /** @param turns - shared by all that works long on this thread */
  constructor(turns = new Turns()) {
    this.#turns = turns;
  }

  decide(job: Job, key: string, deadline: number, scores: Float64Array | null): Promise<Decision> {
    return this.#turns.run(() => decide(job, key, () => performance.now() > deadline, scores));
  }
}

export interface DecisionMakerOptions {
  readonly once: DecideOnce;
  /** Longest time that one request may take for deciding, and again for writing, in milliseconds. */
  readonly timeoutMs: number;
  /** The backend that gives scores; without one the engine ranks alone. */
  readonly scorer?: LineScorer;
}

/** Decisions about jobs, in their order. They must be durable before anything of them is sent. */
export interface Decided {
  readonly decisions: readonly Decision[];
  /** Those of them that the store does not have. */
  readonly fresh: readonly NewDecision[];
  /** Why the engine ranked alone where a backend was to be asked: a code for each text decided now. */
  readonly fallbacks: readonly string[];
}

/**
 * Decides about the texts of requests. A backend is asked only about texts without a decision, and only its first
 * opinion counts: the key names the backend, not its opinion.
 */
export class DecisionMaker {
  readonly #options: DecisionMakerOptions;

  constructor(options: DecisionMakerOptions) {
    this.#options = options;
  }

  /** As `DecideOnce`. */
  get trustMs(): number {
    return this.#options.once.trustMs;
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
   * Decides about texts. New decisions must be stored before anything is sent. If a backend does not answer within the
   * time-out, the engine ranks alone. That decision is replayed, whatever the backend answers later.
   *
   * @param deadline - until when the deciding may take, of `performance.now()`; several calls for one request share it
   * @throws StoreUnavailable when earlier decisions cannot be read
   */
  async decideAll(jobs: readonly Job[], deadline = this.deadline()): Promise<Decided> {
    const keys = jobs.map((job) => this.#keyOf(job));
    const known = await this.#find(jobs, keys);
    const { fresh, fallbacks } = await this.#decideNew(jobs, keys, known, deadline);
    for (const { decision } of fresh) known.set(decision.key, decision);
    return { decisions: keys.flatMap((key) => known.get(key) ?? []), fresh, fallbacks };
  }

  /**
   * As `DecideOnce.makeDurable`.
   *
   * @param conversation - whose originals they are
   * @param owner - the project that owns them, where that is asked for
   */
  makeDurable(
    fresh: readonly NewDecision[],
    sent: readonly SentMessage[],
    conversation: string,
    owner?: string,
  ): Promise<Stored> {
    const of = { conversation: conversation || undefined, owner };
    const batch = { decisions: fresh, touch: [], sent, ...of };
    return this.#options.once.makeDurable(batch, this.#options.timeoutMs);
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
    const { fresh } = await this.#decideNew(jobs, keys, new Map(), this.deadline());
    const byKey = new Map(fresh.map(({ decision }) => [decision.key, decision]));
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
    const stored = await this.#options.once.find([...new Set([...keys, ...earlier])]);
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

  /** Decisions that the store does not have: remembered ones as they were, the others made now. */
  async #decideNew(
    jobs: readonly Job[],
    keys: readonly string[],
    known: ReadonlyMap<string, Decision>,
    deadline: number,
  ): Promise<Pick<Decided, 'fresh' | 'fallbacks'>> {
    const open = new Map<string, Job>();
    for (const [i, job] of jobs.entries()) {
      const key = keys[i] ?? '';
      if (!known.has(key)) open.set(key, job);
    }
    if (open.size === 0) return { fresh: [], fallbacks: [] };
    const { once } = this.#options;
    const scored = await this.#ask(open, deadline);
    const made = await Promise.all(
      [...open].map(([key, job]) => once.make(key, { job, scores: scored.get(key)?.scores ?? null }, deadline)),
    );
    once.remember(made);
    return { fresh: made, fallbacks: [...scored.values()].flatMap(failureOf) };
  }

  /** What the backend, if there is one, thinks of texts that nothing is remembered of. */
  async #ask(open: ReadonlyMap<string, Job>, deadline: number): Promise<ReadonlyMap<string, Scored>> {
    const { scorer, once } = this.#options;
    if (scorer === undefined) return new Map();
    const unknown = new Map([...open].filter(([key]) => !once.remembers(key)));
    const now = performance.now();
    return askAboutAll(scorer, unknown, now + backendTime(deadline - now));
  }
}

/** The most precise code of a backend that was asked in vain. */
function failureOf({ scores, warnings }: Scored): readonly string[] {
  return scores === null ? warnings.slice(-1) : [];
}
