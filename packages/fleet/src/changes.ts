import { untilCalled } from 'mcp-pruner/base/write-behind.ts';

/** Wakes all waiters in this process on a change. Changes by other processes are polled. */
export class Changes {
  readonly #listeners = new Set<() => void>();

  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls `listener` on every change until the returned function is called. */
  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  next(atMostMs: number, signal?: AbortSignal): Promise<void> {
    return untilCalled((listener) => this.on(listener), atMostMs, signal);
  }
}
