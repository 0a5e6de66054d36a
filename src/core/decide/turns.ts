import { setImmediate as nextTurn } from 'node:timers/promises';

/** Length of a time slice, in milliseconds. Work yields to other events afterwards. */
const SLICE_MS = 10;

/**
 * Runs long synchronous work of several requests in time slices. `setImmediate` is not enough: all pending callbacks
 * run in the same phase of the event loop, before any I/O, so a hundred large requests would stall every stream.
 */
export class Turns {
  #workedMs = 0;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #renewing: NodeJS.Immediate | undefined;

  /**
   * Runs one piece of work: at once if the current time slice has time left, otherwise in a later one. Only synchronous
   * time is measured.
   *
   * @returns a promise only if the piece waits for its time slice, or returns one
   */
  run<T>(piece: () => T | Promise<T>): T | Promise<T> {
    return this.#waiting > 0 || this.#workedMs >= SLICE_MS ? this.#later(piece) : this.#now(piece);
  }

  async #later<T>(piece: () => T | Promise<T>): Promise<T> {
    this.#waiting++;
    this.#last = this.#last.then(() => nextTurn());
    await this.#last;
    this.#waiting--;
    this.#workedMs = 0;
    return this.#now(piece);
  }

  #now<T>(piece: () => T | Promise<T>): T | Promise<T> {
    // the next turn of the event loop has a time slice of its own
    this.#renewing ??= setImmediate(() => {
      this.#renewing = undefined;
      this.#workedMs = 0;
    });
    const startedAt = performance.now();
    try {
      return piece();
    } finally {
      this.#workedMs += performance.now() - startedAt;
    }
  }
}

/** Reading takes about 5 ms per MB, so a smaller body causes no noticeable delay. */
const MIN_TURN_BYTES = 256 * 1024;

/** Whether a body of this size is processed in time slices. */
export function takesTurns(bytes: number): boolean {
  return bytes >= MIN_TURN_BYTES;
}

/** Runs work on a large body in time slices; work on a small body runs at once. */
export function ifLargeInTurns<T>(turns: Turns, bytes: number, piece: () => T): T | Promise<T> {
  return takesTurns(bytes) ? turns.run(piece) : piece();
}

/**
 * Advances a generator until it is done or `ms` has elapsed.
 *
 * @returns the generator's result; `null` if it is not done
 */
export function advanceFor<T>(steps: Generator<void, T>, ms: number): T | null {
  const end = performance.now() + ms;
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() >= end) return null;
  }
}
