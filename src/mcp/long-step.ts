import { setImmediate as nextTurn } from 'node:timers/promises';

/** A step that took so many milliseconds lets everything else go first. Chosen: half of what may hold up the event loop. */
const LONG_MS = 5;

/** Measures one synchronous step of a call. */
export class LongStep {
  readonly #startedAt = performance.now();

  /** Resolves in the next turn of the event loop where the step was long, else at once. */
  async over(): Promise<void> {
    if (performance.now() - this.#startedAt > LONG_MS) await nextTurn();
  }
}
