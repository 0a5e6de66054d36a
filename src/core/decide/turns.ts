import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long work may go on, in one request or in several, before everything else gets a turn, in milliseconds. */
const SLICE_MS = 10;

/**
 * Lets requests take turns at long synchronous work. `setImmediate` alone does not: all that wait for it go on one after
 * the other before anything is read or written again, and a hundred large requests at once would stall every stream.
 */
export class Turns {
  #workedMs = 0;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  /**
   * Does one piece of work when it is its turn: at once, before it returns, when there was little to do. Only its
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

/** Reading takes some 5 ms for each MB: a smaller body does not delay others noticeably. */
const MIN_TURN_BYTES = 256 * 1024;

/** Whether work on so many bytes takes turns with others. */
export function takesTurns(bytes: number): boolean {
  return bytes >= MIN_TURN_BYTES;
}

/** Runs work on a large body in turn with others; a small body does not wait. */
export function inTurn<T>(turns: Turns, bytes: number, piece: () => T): T | Promise<T> {
  return takesTurns(bytes) ? turns.run(piece) : piece();
}

/**
 * Goes on with work of many steps until it is done or the time is over.
 *
 * @returns its result; `null` while there is more to do
 */
export function goOn<T>(steps: Generator<void, T>, ms: number): T | null {
  const end = performance.now() + ms;
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() >= end) return null;
  }
}

/** The time limit of a request has passed. */
export const TIMED_OUT = new Error('deciding took too long');

/**
 * Result of `work`, or `null` after `ms` milliseconds. The work is not cancelled; its late result is dropped.
 *
 * @param onLate - called with the error of work that fails after that
 */
export function within<T>(work: Promise<T>, ms: number, onLate: (cause: unknown) => void): Promise<T | null> {
  return new Promise((resolve, reject) => {
    let failed = reject;
    const timer = setTimeout(() => {
      failed = onLate;
      resolve(null);
    }, ms);
    void work.then(resolve, (cause: unknown) => failed(cause)).finally(() => clearTimeout(timer));
  });
}
