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
    if (this.#bytes > 0 && this.#bytes + bytes + OWN_BYTES > this.#options.maxBytes) return false;
    this.push(bytes, work);
    return true;
  }

  /** As `add`, even beyond the maximum: for work that must not be dropped, whose sources wait for `room` instead. */
  push(bytes: number, work: () => Promise<void>): void {
    const { onFailure, reason } = this.#options;
    const size = bytes + OWN_BYTES;
    this.#bytes += size;
    this.#last = this.#last
      .then(work)
      .catch((cause: unknown) => onFailure(reason, cause))
      .finally(() => {
        this.#bytes -= size;
      });
  }

  /** Resolves as soon as the waiting work holds no more than the maximum. Never rejects. */
  async room(): Promise<void> {
    while (this.#bytes > this.#options.maxBytes) await this.#last;
  }

  /** Resolves when everything queued so far is done or has failed. Never rejects. */
  flush(): Promise<void> {
    return this.#last;
  }
}
