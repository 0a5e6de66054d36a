/** An answer of this size is always written: errors, and what most tools say. */
const SMALL_BYTES = 64 * 1024;

/**
 * Room for answers that clients have not read yet. Each is held in memory until its client takes it, however slowly, and
 * all clients share the room.
 */
export class AnswerRoom {
  readonly #maxBytes: number;
  #held = 0;

  /** @param maxBytes - of answers at once; a larger one goes alone */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns what gives the room back, or `null` when there is none for an answer of this size */
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
