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
  /** Which requests wait; by default all whose history is unknown. */
  readonly waitsFor?: 'all' | 'bound';
}

/** Retry interval while the store is reachable but does not answer. */
const AGAIN_MS = 200;
/** Maximum wait for a store that answers with errors, in milliseconds. Meanwhile a file is opened again three times. */
const ERRORS_MS = 2_000;
const ERRORS: ReadonlySet<string> = new Set(['corrupt', 'error', 'readonly', 'full']);

/**
 * Lets requests wait while the store with their earlier cuts is unavailable. Forwarded unpruned, they would miss the
 * provider's cache and, if the provider verifies the history, might break the session.
 */
export class StoreWait {
  readonly #options: StoreWaitOptions;
  #bytes = 0;

  constructor(options: StoreWaitOptions) {
    this.#options = options;
  }

  get waitsFor(): 'all' | 'bound' {
    return this.#options.waitsFor ?? 'all';
  }

  /**
   * @param cause - why the store could not be queried
   * @param sinceMs - `performance.now()` when the request arrived
   * @param askedMs - when it first queried the store
   * @returns whether to try again
   */
  async wait(cause: unknown, bytes: number, sinceMs: number, askedMs = sinceMs): Promise<boolean> {
    const { maxMs, maxBytes } = this.#options;
    if (performance.now() >= sinceMs + maxMs || this.#bytes + bytes > maxBytes) return false;
    this.#bytes += bytes;
    try {
      return await this.#back(cause, askedMs);
    } finally {
      this.#bytes -= bytes;
    }
  }

  async #back(cause: unknown, askedMs: number): Promise<boolean> {
    const { problem, untilBack, maxMs } = this.#options;
    if (problem()?.reason === 'unreachable') return untilBack(maxMs);
    const reason = storeReason(cause);
    if (reason === null) return false; // not a store failure, so waiting does not help
    await pause(AGAIN_MS);
    if (reason === 'unreachable' || reason === 'locked') return true;
    return ERRORS.has(reason) && performance.now() < askedMs + ERRORS_MS; // a single error must send no history whole
  }
}
