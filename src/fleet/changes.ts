import { untilCalled } from '../write-behind.ts';

/** Wakes whoever waits for something to change in this process; other processes are looked for now and then. */
export class Changes {
  readonly #listeners = new Set<() => void>();

  tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls back with every change, until the returned function is called. */
  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Waits for a change, at most for a time. */
  next(atMostMs: number, signal?: AbortSignal): Promise<void> {
    return untilCalled((listener) => this.on(listener), atMostMs, signal);
  }
}
