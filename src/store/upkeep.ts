import type { FailureReporter } from '../base/failures.ts';
import type { ProjectRetention } from '../core/ports/project-settings.ts';
import type { Clock } from '../core/ports.ts';
import type { StoreHandle } from './handle.ts';

/** Something that is maintained in small steps; `true` if the next step has work to do as well. */
export interface Sweepable {
  /** Deletes what has expired or is too much. */
  sweep(): Promise<boolean>;
  /** Work that each request leaves behind, done in the next pause. */
  tidy?(): Promise<boolean>;
  /** Whether there is too much to do to wait for a pause. */
  pressed?(): boolean;
  /** Whether writing fails, so that each pause tries it again. */
  failing?(): boolean;
}

/** Pauses between steps with more work to do. */
const MORE_MS = 50;
const PRESSED_MS = 5;
/** Pause after a failed step. */
const RETRY_MS = 2_000;
/**
 * Time without requests, or since the start of the process, after which upkeep runs; and the time after which it runs
 * even under constant requests.
 */
const CALM_MS = 1_000;
const LATEST_MS = 30_000;
/** Shortest time between two complete sweeps, and the time after which an unused process sweeps again. */
const SWEEP_EVERY_MS = 60_000;
const UNUSED_MS = 3_600_000;

/**
 * Maintains a store in small steps, in the pauses between requests. Once that is done it sleeps until the next request,
 * or for an hour, because things expire in an unused process as well.
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

  /** Records that a request has to be served first. */
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
    // finish what was started, or the upkeep of a busy store would never complete
    if (more) return this.#later(pressed ? PRESSED_MS : MORE_MS);
    this.#doneAt = performance.now();
    if (more === null || this.#store.failing?.()) return this.#later(RETRY_MS);
    this.#sleep(requestAt);
  }

  async #step(pressed: boolean): Promise<boolean> {
    if (await this.#store.tidy?.()) return true;
    const isDue = performance.now() - this.#sweptAt >= SWEEP_EVERY_MS;
    if (!isDue && !pressed && !this.#store.failing?.()) return false;
    if (await this.#store.sweep()) return true;
    this.#sweptAt = performance.now();
    return false;
  }

  /** Sleeps, unless a request came during the last step; after requests until the next sweep is due. */
  #sleep(requestAt: number): void {
    const isIdle = requestAt === this.#requestAt;
    const dueIn = this.#sweptAt + SWEEP_EVERY_MS - performance.now();
    this.#later(!isIdle ? CALM_MS : requestAt > this.#sweptAt ? Math.max(CALM_MS, dueIn) : UNUSED_MS);
    this.#isAsleep = isIdle;
  }
}

/** Interval between searches for data beyond a project's retention. */
const SEARCH_EVERY_MS = 600_000;

interface RetentionOptions {
  readonly store: Pick<StoreHandle, 'erasure'>;
  readonly clock: Clock;
  /** Lifetime of originals if a project sets none. */
  readonly ttlMs: number;
  /** The current retention settings of projects. */
  readonly retentions: () => readonly ProjectRetention[];
}

/**
 * Deletes data beyond the retention of projects that keep it for a shorter time than the server, in the pauses between
 * requests.
 */
export class RetentionByProject {
  readonly #options: RetentionOptions;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Returns whether the next step has work to do as well. @throws StoreUnavailable */
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
