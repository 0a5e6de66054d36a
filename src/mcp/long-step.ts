import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Steps of at least this duration yield to other events afterwards, in milliseconds. Half of the longest acceptable
 * block of the event loop.
 */
const LONG_MS = 5;

/** Measures one synchronous step of a call. */
export class LongStep {
  readonly #startedAt = performance.now();

  /** Resolves in the next event-loop turn if the step was long, otherwise at once. */
  async over(): Promise<void> {
    if (performance.now() - this.#startedAt > LONG_MS) await nextTurn();
  }
}
