/** Limits the bytes of bodies rewritten at the same time, because their texts are on the heap. */
export class ByteBudget {
  readonly #maxBytes: number;
  #taken = 0;
  readonly #waiting: { readonly bytes: number; readonly go: (release: () => void) => void }[] = [];

  /** @param maxBytes - most bytes at once; a larger body runs alone */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Waits until the budget allows a body, in order of arrival.
   *
   * @returns a function that releases the bytes, or `null` after `waitMs`: the body is then forwarded unchanged
   */
  take(bytes: number, waitMs: number): Promise<(() => void) | null> {
    if (this.#waiting.length === 0 && this.#fits(bytes)) return Promise.resolve(this.#occupy(bytes));
    return new Promise((resolve) => {
      const mine = {
        bytes,
        go: (release: () => void): void => {
          clearTimeout(timer);
          resolve(release);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(mine), 1);
        resolve(null);
        this.#admit(); // a smaller body behind it may fit
      }, waitMs);
      this.#waiting.push(mine);
    });
  }

  #fits(bytes: number): boolean {
    return this.#taken === 0 || this.#taken + bytes <= this.#maxBytes;
  }

  #occupy(bytes: number): () => void {
    this.#taken += bytes;
    return () => {
      this.#taken -= bytes;
      this.#admit();
    };
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next && this.#fits(next.bytes); next = this.#waiting[0]) {
      this.#waiting.shift();
      next.go(this.#occupy(next.bytes));
    }
  }
}
