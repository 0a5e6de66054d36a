import type { FailureReporter } from '../base/failures.ts';
import type { ProjectRetention } from '../core/ports/project-settings.ts';
import type { Clock } from '../core/ports.ts';
import type { StoreHandle } from './handle.ts';

/** Something maintained in small steps; each returns `true` if there is more to do. */
interface Sweepable {
  /** Deletes expired and surplus items. */
  sweep(): Promise<boolean>;
  /** Whether upkeep is so urgent that it cannot wait for a pause. */
  pressed?(): boolean;
  /** Whether writes are failing, so that each pause retries them. */
  failing?(): boolean;
}

/** Pauses between steps while there is more work, in milliseconds. */
const MORE_MS = 50;
const PRESSED_MS = 5;
/** Pause after a failed step, in milliseconds. */
const RETRY_MS = 2_000;
/** Idle time before upkeep runs, and the time after which it runs even under constant load. */
const CALM_MS = 1_000;
const LATEST_MS = 30_000;
/** Minimum interval between complete sweeps, and the interval of an idle process. */
const SWEEP_EVERY_MS = 60_000;
const UNUSED_MS = 3_600_000;

/**
 * Maintains a store in small steps, in the pauses between requests. Then sleeps until the next request or for an hour,
 * because items also expire in an idle process.
 */
export class Upkeep {
  readonly #store: Sweepable;
  readonly #onFailure: FailureReporter;
  #timer: NodeJS.Timeout | undefined;
  #requestAt = Number.NEGATIVE_INFINITY;
  #doneAt = performance.now();
  #sweptAt = Number.NEGATIVE_INFINITY;
  #isAsleep = false;
  #closed = false;

  constructor(store: Sweepable, onFailure: FailureReporter) {
    this.#store = store;
    this.#onFailure = onFailure;
    this.#later(CALM_MS);
  }

  /** Records that a request takes priority. */
  request(): void {
    this.#requestAt = performance.now();
    if (!this.#isAsleep) return;
    clearTimeout(this.#timer);
    this.#later(CALM_MS);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #later(ms: number): void {
    this.#isAsleep = false;
    if (!this.#closed) this.#timer = setTimeout(() => void this.#next(), ms).unref();
  }

  async #next(): Promise<void> {
    const now = performance.now();
    const calmIn = this.#requestAt + CALM_MS - now;
    const pressed = this.#store.pressed?.() ?? false;
    if (!pressed && calmIn > 0 && now - this.#doneAt < LATEST_MS) return this.#later(calmIn);
    const requestAt = this.#requestAt;
    const more = await this.#step(pressed).catch((cause: unknown) => {
      this.#onFailure('not_swept', cause);
      return null;
    });
    // continue a sweep once started, or the upkeep of a busy store would never complete
    if (more) return this.#later(pressed ? PRESSED_MS : MORE_MS);
    this.#doneAt = performance.now();
    if (more === null || this.#store.failing?.()) return this.#later(RETRY_MS);
    this.#sleep(requestAt);
  }

  async #step(pressed: boolean): Promise<boolean> {
    const isDue = performance.now() - this.#sweptAt >= SWEEP_EVERY_MS;
    if (!isDue && !pressed && !this.#store.failing?.()) return false;
    if (await this.#store.sweep()) return true;
    this.#sweptAt = performance.now();
    return false;
  }

  /** Sleeps, unless a request arrived during the last step; after requests, until the next sweep is due. */
  #sleep(requestAt: number): void {
    const isIdle = requestAt === this.#requestAt;
    const dueIn = this.#sweptAt + SWEEP_EVERY_MS - performance.now();
    this.#later(!isIdle ? CALM_MS : requestAt > this.#sweptAt ? Math.max(CALM_MS, dueIn) : UNUSED_MS);
    this.#isAsleep = isIdle;
  }
}

/** Interval of checks for data beyond a project's retention. */
const SEARCH_EVERY_MS = 600_000;

interface RetentionOptions {
  readonly store: Pick<StoreHandle, 'erasure'>;
  readonly clock: Clock;
  /** Lifetime of originals for projects without a setting. */
  readonly ttlMs: number;
  /** The current retention settings of projects. */
  readonly retentions: () => readonly ProjectRetention[];
}

/** Enforces retentions of projects that are shorter than the server's, in the pauses between requests. */
export class RetentionByProject {
  readonly #options: RetentionOptions;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Returns whether there is more to do. @throws StoreUnavailable */
  async step(): Promise<boolean> {
    const { store, clock, ttlMs } = this.#options;
    const retentions = this.#options.retentions();
    if (retentions.length === 0 || clock.nowMs() < this.#nextMs) return false;
    const erasure = await store.erasure();
    let more = false;
    for (const retention of retentions) more = (await erasure.expire(retention, ttlMs)) || more;
    if (!more) this.#nextMs = clock.nowMs() + SEARCH_EVERY_MS;
    return more;
  }
}
