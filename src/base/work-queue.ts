import type { FailureReporter } from './failures.ts';

export interface WorkQueueOptions {
  /** Maximum number of bytes that waiting work holds; a single piece of any size fits into an empty queue. */
  readonly maxBytes: number;
  /** Reports work that failed. */
  readonly onFailure: FailureReporter;
  /** Code of these failures. */
  readonly reason: string;
}

/** Bytes that a piece of work takes besides what it holds. */
const OWN_BYTES = 1_000;

/** Does work in the background, one piece after the other, in order. It is bounded by what the waiting work holds. */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  #last: Promise<void> = Promise.resolve();
  #bytes = 0;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /**
   * Queues work. Never throws or blocks.
   *
   * @param bytes - what it keeps in memory until it is done
   * @returns whether it was queued; `false`: the queue is full, and the work is dropped
   */
  add(bytes: number, work: () => Promise<void>): boolean {
    const { maxBytes, onFailure, reason } = this.#options;
    const size = bytes + OWN_BYTES;
    if (this.#bytes > 0 && this.#bytes + size > maxBytes) return false;
    this.#bytes += size;
    this.#last = this.#last
      .then(work)
      .catch((cause: unknown) => onFailure(reason, cause))
      .finally(() => {
        this.#bytes -= size;
      });
    return true;
  }

  /** Resolves when everything queued so far is done or has failed. Never rejects. */
  flush(): Promise<void> {
    return this.#last;
  }
}
