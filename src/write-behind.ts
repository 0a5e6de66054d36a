import { setImmediate as nextTurn } from 'node:timers/promises';

const DELAY_MS = 500;
/** Rows of one transaction: some 2 ms of the event loop, after which requests have their turn. */
const WRITTEN_AT_ONCE = 200;

/** Writes rows in their order, some at once, and lets the event loop turn in between. Rejects with what `write` throws. */
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
 * Writes a moment after there is something to write, what came in between together, one write at a time: nobody waits
 * for it. What waits is its owner's to hold and to bound.
 */
export class WriteBehind {
  readonly #write: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  readonly #delayMs: number;

  /**
   * @param write - writes all that waits; must not reject
   * @param delayMs - how long it waits at the most
   */
  constructor(write: () => Promise<void>, delayMs = DELAY_MS) {
    this.#write = write;
    this.#delayMs = delayMs;
  }

  /** There is something to write. */
  soon(): void {
    this.#timer ??= setTimeout(() => void this.flush(), this.#delayMs).unref();
  }

  /** Writes now. Resolves when all that waited at the call is written or lost. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(this.#write);
    return this.#writing;
  }
}
