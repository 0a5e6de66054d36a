import { setImmediate as nextTurn } from 'node:timers/promises';

const DELAY_MS = 500;
/** Maximum number of rows per transaction: some 2 ms of the event loop, after which requests are served. */
const WRITTEN_AT_ONCE = 200;

/**
 * Writes rows in their order, some at once, and lets the event loop turn in between. Rejects with what `write` throws.
 */
export async function writeInParts<Row>(
  rows: readonly Row[],
  write: (some: readonly Row[]) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < rows.length; at += WRITTEN_AT_ONCE) {
    if (at > 0) await nextTurn();
    await write(rows.slice(at, at + WRITTEN_AT_ONCE));
  }
}

/**
 * Waits for a callback, at most for a time and until the signal fires.
 *
 * @param on - registers a listener, until the returned function is called
 */
export function untilCalled(
  on: (listener: () => void) => () => void,
  atMostMs: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      forget();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, atMostMs);
    const forget = on(done);
    signal?.addEventListener('abort', done, { once: true });
    if (signal?.aborted) done();
  });
}

/**
 * Writes in the background, shortly after there is something to write: everything that came in meanwhile together, one
 * write at a time. The owner holds and bounds the waiting data.
 */
export class WriteBehind {
  readonly #write: () => Promise<void>;
  readonly #delayMs: number;
  #timer: NodeJS.Timeout | undefined;
  #next: NodeJS.Immediate | undefined;
  #writing: Promise<void> | null = null;

  /**
   * @param write - writes all that waits; must not reject
   * @param delayMs - how long it waits at most
   */
  constructor(write: () => Promise<void>, delayMs = DELAY_MS) {
    this.#write = write;
    this.#delayMs = delayMs;
  }

  /**
   * Schedules a write.
   *
   * @param rows - number of waiting rows; if they fill a transaction, they are written in the next turn of the event
   * loop
   */
  soon(rows = 0): void {
    if (rows >= WRITTEN_AT_ONCE && this.#writing === null) this.#next ??= setImmediate(() => void this.flush());
    else this.#timer ??= setTimeout(() => void this.flush(), this.#delayMs).unref();
  }

  /** Writes now. Resolves when everything that was waiting at the call is written or lost. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    clearImmediate(this.#next);
    this.#timer = undefined;
    this.#next = undefined;
    const written = (this.#writing ?? Promise.resolve()).then(this.#write).then(() => {
      if (this.#writing === written) this.#writing = null;
    });
    this.#writing = written;
    return written;
  }
}
