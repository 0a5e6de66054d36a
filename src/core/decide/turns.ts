import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long work may continue, in one request or in several, before other events are processed, in milliseconds. */
const SLICE_MS = 10;

/**
 * Lets requests take turns at long synchronous work. `setImmediate` alone is not enough: all pending callbacks run in
 * the same phase of the event loop, before any I/O, so a hundred large requests at once would stall every stream.
 */
export class Turns {
  #workedMs = 0;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  /**
   * Runs one piece of work in turn. Runs it synchronously if the current time slice is not used up. Only its
   * synchronous part is measured.
   */
  async run<T>(piece: () => T | Promise<T>): Promise<T> {
    if (this.#waiting > 0 || this.#workedMs >= SLICE_MS) {
      this.#waiting++;
      this.#last = this.#last.then(() => nextTurn());
      await this.#last;
      this.#waiting--;
      this.#workedMs = 0;
    }
    const startedAt = performance.now();
    try {
      return piece();
    } finally {
      this.#workedMs += performance.now() - startedAt;
    }
  }
}

/** Reading takes about 5 ms per MB: a smaller body does not delay others noticeably. */
const MIN_TURN_BYTES = 256 * 1024;

/** Whether work on so many bytes takes turns with others. */
export function takesTurns(bytes: number): boolean {
  return bytes >= MIN_TURN_BYTES;
}

/** Runs work on a large body in turn with others; a small body does not wait. */
export function ifLargeInTurns<T>(turns: Turns, bytes: number, piece: () => T): T | Promise<T> {
  return takesTurns(bytes) ? turns.run(piece) : piece();
}

/**
 * Advances a generator until it is done or `ms` has elapsed.
 *
 * @returns its result; `null` while there is more to do
 */
export function advanceFor<T>(steps: Generator<void, T>, ms: number): T | null {
  const end = performance.now() + ms;
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() >= end) return null;
  }
}
