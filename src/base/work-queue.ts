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
  #waiting: { readonly size: number; readonly work: () => Promise<void> | void }[] = [];
  #running: Promise<void> | null = null;
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
  add(bytes: number, work: () => Promise<void> | void): boolean {
    if (this.#bytes > 0 && this.#bytes + bytes + OWN_BYTES > this.#options.maxBytes) return false;
    this.push(bytes, work);
    return true;
  }

  /** Like `add`, even beyond the maximum: for work that must not be dropped, whose producers await `room`. */
  push(bytes: number, work: () => Promise<void> | void): void {
    const size = bytes + OWN_BYTES;
    this.#bytes += size;
    this.#waiting.push({ size, work });
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    const { onFailure, reason } = this.#options;
    await null; // the caller that adds work goes on first
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      try {
        await next.work();
      } catch (cause) {
        onFailure(reason, cause);
      }
      this.#bytes -= next.size;
    }
    this.#running = null;
  }

  /** Resolves once queued work is within the maximum. Never rejects. */
  async room(): Promise<void> {
    while (this.#bytes > this.#options.maxBytes) await this.flush();
  }

  /** Resolves when everything queued so far is done or has failed. Never rejects. */
  flush(): Promise<void> {
    if (this.#running === null) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ size: 0, work: resolve }));
  }
}
