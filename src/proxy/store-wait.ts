import { setTimeout as pause } from 'node:timers/promises';
import { StoreUnavailable } from '../errors.ts';

export interface StoreWaitOptions {
  /** Why the store cannot be used or written now, or `null`. */
  readonly problem: () => { readonly reason: string } | null;
  /** As in `StoreHandle`. */
  readonly untilBack: (ms: number) => Promise<boolean>;
  /** How long an absence is waited out, and longest time that a request waits where it is not one, in milliseconds. */
  readonly maxMs: number;
  /** Bytes of bodies that wait at once. */
  readonly maxBytes: number;
}

/** Between two tries where the store is there and answers nobody. */
const AGAIN_MS = 200;

/**
 * Where requests wait whose past only the store knows while it cannot be asked: sent otherwise than before they would cost
 * the provider's cache, and the session where the provider checks.
 */
export class StoreWait {
  readonly #options: StoreWaitOptions;
  #bytes = 0;

  constructor(options: StoreWaitOptions) {
    this.#options = options;
  }

  /**
   * @param cause - why the store could not be asked
   * @param sinceMs - when the request came, of `performance.now()`
   * @returns whether it is worth another try
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
    if (!(cause instanceof StoreUnavailable)) return false; // it is something else that takes long
    await pause(AGAIN_MS);
    return cause.reason === 'unreachable' || cause.reason === 'locked';
  }
}
