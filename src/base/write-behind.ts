import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest time that something waits to be written, in milliseconds. */
const EVERY_MS = 1_000;
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

/** A part of a process that writes in the background, one write at a time. It holds and bounds the waiting data. */
export interface BackgroundWriter {
  /**
   * Schedules a write.
   *
   * @param rows - number of waiting rows; if they fill a transaction, they are written in the next turn of the event
   * loop
   */
  soon(rows?: number): void;
  /** Writes now. Resolves when everything that was waiting at the call is written or lost. */
  flush(): Promise<void>;
}

/**
 * Writes in the background, at most once a second: whatever waits in all parts of a process is written at the same time,
 * so that the store can commit it together.
 */
export class WriteBehind {
  readonly #due = new Set<BackgroundWriter>();
  #timer: NodeJS.Timeout | undefined;

  /** @param write - writes all that waits; must not reject */
  writer(write: () => Promise<void>): BackgroundWriter {
    let writing: Promise<void> | null = null;
    let next: NodeJS.Immediate | undefined;
    const writer: BackgroundWriter = {
      soon: (rows = 0) => {
        if (rows >= WRITTEN_AT_ONCE && writing === null) next ??= setImmediate(() => void writer.flush());
        else this.#later(writer);
      },
      flush: () => {
        this.#due.delete(writer);
        clearImmediate(next);
        next = undefined;
        const written = (writing ?? Promise.resolve()).then(write).then(() => {
          if (writing === written) writing = null;
        });
        writing = written;
        return written;
      },
    };
    return writer;
  }

  #later(writer: BackgroundWriter): void {
    this.#due.add(writer);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const due of [...this.#due]) void due.flush();
    }, EVERY_MS).unref();
  }
}
