import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Duration from which a step yields to other events, in milliseconds. This is half of the longest acceptable block of
 * the event loop.
 */
const LONG_MS = 5;

/** Measures one synchronous step of a call. */
export class LongStep {
  readonly #startedAt = performance.now();

  /** Resolves in the next turn of the event loop if the step was long, else at once. */
  async over(): Promise<void> {
    if (performance.now() - this.#startedAt > LONG_MS) await nextTurn();
  }
}
