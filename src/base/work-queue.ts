import type { FailureReporter } from './failures.ts';

interface WorkQueueOptions {
  /** Maximum number of bytes held by queued work; a single piece of any size fits into an empty queue. */
  readonly maxBytes: number;
  readonly onFailure: FailureReporter;
  readonly reason: string;
}

/** Overhead of a piece of work, in bytes. */
const OWN_BYTES = 1_000;

/** Runs work sequentially in the background. Bounded by the memory that queued work holds. */
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
   * @param bytes - memory held until the work is done
   * @returns whether it was queued; `false` if the queue is full and the work was dropped
   */
  add(bytes: number, work: () => Promise<void>): boolean {
    if (this.#bytes > 0 && this.#bytes + bytes + OWN_BYTES > this.#options.maxBytes) return false;
    this.push(bytes, work);
    return true;
  }

  /** Like `add`, even beyond the maximum: for work that must not be dropped, whose producers await `room`. */
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

  /** Resolves once queued work is within the maximum. Never rejects. */
  async room(): Promise<void> {
    while (this.#bytes > this.#options.maxBytes) await this.#last;
  }

  /** Resolves when everything queued so far is done or has failed. Never rejects. */
  flush(): Promise<void> {
    return this.#last;
  }
}
