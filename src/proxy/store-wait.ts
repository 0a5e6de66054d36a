import { setTimeout as pause } from 'node:timers/promises';
import { storeReason } from '../errors/errors.ts';

interface StoreWaitOptions {
  /** Why the store is currently unusable or unwritable, or `null`. */
  readonly problem: () => { readonly reason: string } | null;
  /** See `StoreHandle`. */
  readonly untilBack: (ms: number) => Promise<boolean>;
  /** Maximum time that a request waits for the store, in milliseconds. */
  readonly maxMs: number;
  /** Maximum total size of waiting bodies, in bytes. */
  readonly maxBytes: number;
  /** From the first error of a store, requests wait this long, in milliseconds. Default: two seconds. */
  readonly errorsMs?: number;
  /** Which requests wait; by default all whose history is unknown. */
  readonly waitsFor?: 'all' | 'bound';
}

/** Retry interval while the store is reachable but does not answer. */
const AGAIN_MS = 200;
/** Time in which a file is opened again three times. */
const ERRORS_MS = 2_000;
/** An error after so long without one is a first one. */
const NO_ERRORS_MS = 3_000;
const ERRORS: ReadonlySet<string> = new Set(['corrupt', 'error', 'readonly', 'refused', 'full']);

/**
 * Lets requests wait while the store with their earlier cuts is unavailable. Forwarded unpruned, they would miss the
 * provider's cache and, if the provider verifies the history, might break the session.
 */
export class StoreWait {
  readonly #options: StoreWaitOptions;
  #bytes = 0;
  /** The first and the last of the present errors, as `performance.now()`. */
  readonly #errors = { firstMs: Number.NEGATIVE_INFINITY, lastMs: Number.NEGATIVE_INFINITY };

  constructor(options: StoreWaitOptions) {
    this.#options = options;
  }

  get waitsFor(): 'all' | 'bound' {
    return this.#options.waitsFor ?? 'all';
  }

  /**
   * @param cause - why the store could not be queried
   * @param sinceMs - `performance.now()` when the request arrived
   * @returns whether to try again
   */
  async wait(cause: unknown, bytes: number, sinceMs: number): Promise<boolean> {
    const { maxMs, maxBytes } = this.#options;
    if (performance.now() >= sinceMs + maxMs || this.#bytes + bytes > maxBytes) return false;
    this.#bytes += bytes;
    try {
      return await this.#back(cause);
    } finally {
      this.#bytes -= bytes;
    }
  }

  async #back(cause: unknown): Promise<boolean> {
    const { problem, untilBack, maxMs } = this.#options;
    if (problem()?.reason === 'unreachable') return untilBack(maxMs);
    const reason = storeReason(cause);
    if (reason === null) return false; // not a store failure, so waiting does not help
    const isNew = ERRORS.has(reason) && this.#isNewError();
    await pause(AGAIN_MS);
    return isNew || reason === 'unreachable' || reason === 'locked';
  }

  /** Counts an error. @returns whether it may be a single one, after which no history must go whole */
  #isNewError(): boolean {
    const nowMs = performance.now();
    if (nowMs > this.#errors.lastMs + NO_ERRORS_MS) this.#errors.firstMs = nowMs;
    this.#errors.lastMs = nowMs;
    return nowMs < this.#errors.firstMs + (this.#options.errorsMs ?? ERRORS_MS);
  }
}
