import { setImmediate as nextTurn } from 'node:timers/promises';

const EVERY_MS = 1_000;
/** Maximum number of rows per transaction: about 2 ms of the event loop before requests are served. */
const WRITTEN_AT_ONCE = 200;

/** Writes rows in order and in chunks, yielding to the event loop in between. Rejects if `write` throws. */
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
 * Writes rows in one transaction; if the store refuses a row, in ever smaller ones, so that only that row is lost.
 * Rejects if `write` fails for another reason.
 *
 * @param isRefused - whether a row is at fault, and not the store
 * @param drop - called for each row that is lost
 */
export function writeApart<Row>(
  rows: readonly Row[],
  write: (some: readonly Row[]) => Promise<void>,
  isRefused: (cause: unknown) => boolean,
  drop: (row: Row, cause: unknown) => void,
): Promise<void> {
  const [first] = rows;
  if (first === undefined) return Promise.resolve();
  return write(rows).catch(async (cause: unknown) => {
    if (!isRefused(cause)) throw cause;
    if (rows.length === 1) return drop(first, cause);
    const middle = Math.ceil(rows.length / 2);
    await writeApart(rows.slice(0, middle), write, isRefused, drop);
    await writeApart(rows.slice(middle), write, isRefused, drop);
  });
}

/**
 * Waits for a callback, until a time limit or an abort signal.
 *
 * @param on - registers a listener; returns the unsubscribe function
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

/** A background writer with one write at a time. Its owner holds and bounds the waiting data. */
export interface BackgroundWriter {
  /**
   * Schedules a write.
   *
   * @param rows - number of waiting rows; if they fill a transaction, they are written in the next turn of the event
   * loop
   */
  soon(rows?: number): void;
  /** Writes now. Resolves when everything waiting at the time of the call is written or lost. */
  flush(): Promise<void>;
}

/**
 * Coordinates background writes, by default at most once a second: all writers of a process write at the same time, so that the
 * store can commit together.
 */
export class WriteBehind {
  readonly #due = new Set<BackgroundWriter>();
  readonly #everyMs: number;
  #timer: NodeJS.Timeout | undefined;
  #source = (): Promise<void> => Promise.resolve();

  /** @param everyMs - maximum delay of a write */
  constructor(everyMs = EVERY_MS) {
    this.#everyMs = everyMs;
  }

  /** @param write - writes all waiting data; must not reject */
  writer(write: () => Promise<void>): BackgroundWriter {
    let writing: Promise<void> | null = null;
    let next: NodeJS.Immediate | undefined;
    const writer: BackgroundWriter = {
      soon: (rows = 0) => {
        if (rows >= WRITTEN_AT_ONCE && writing === null) next ??= setImmediate(() => void writer.flush());
        else {
          this.#due.add(writer);
          if (this.#timer === undefined) this.wake();
        }
      },
      flush: () => {
        this.#due.delete(writer);
        clearImmediate(next);
        next = undefined;
        const written = writing === null ? write() : writing.then(write);
        writing = written;
        void written.then(() => {
          if (writing === written) writing = null;
        });
        return written;
      },
    };
    return writer;
  }

  /** @param source - passes waiting data to the writers before each round of writes; must not reject */
  fedBy(source: () => Promise<void>): void {
    this.#source = source;
  }

  /** Schedules a round of writes: the source has data. */
  wake(): void {
    this.#timer ??= setTimeout(() => void this.#writeAll(), this.#everyMs).unref();
  }

  async #writeAll(): Promise<void> {
    await this.#source();
    this.#timer = undefined;
    for (const due of [...this.#due]) void due.flush();
  }
}
