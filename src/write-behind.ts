const DELAY_MS = 500;

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
