/** Answers up to this size are always written: errors, and those of most tools. */
const SMALL_BYTES = 64 * 1024;

/**
 * Limits the bytes of answers that clients have not read yet. Each answer stays in memory until its client has read it,
 * however slowly, and all clients share the budget.
 */
export class ByteBudget {
  readonly #maxBytes: number;
  #held = 0;

  /**
   * @param maxBytes - maximum number of bytes of answers at once; a larger answer is written when no other one waits
   */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns a function that releases the bytes, or `null` when the budget does not allow an answer of this size */
  take(bytes: number): (() => void) | null {
    if (bytes > SMALL_BYTES && this.#held > 0 && this.#held + bytes > this.#maxBytes) return null;
    this.#held += bytes;
    let isHeld = true;
    return () => {
      if (isHeld) this.#held -= bytes;
      isHeld = false;
    };
  }
}
