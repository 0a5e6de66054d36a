/** Room for bodies that are rewritten at the same time: their texts live in the heap, of which there is so much only. */
export class RewriteRoom {
  readonly #maxBytes: number;
  #taken = 0;
  readonly #waiting: { readonly bytes: number; readonly go: (release: () => void) => void }[] = [];

  /** @param maxBytes - of bodies at once; a larger one goes alone */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Waits for room, first come, first served.
   *
   * @returns what gives the room back, or `null` when none came free in time: the body is to go as it came
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
        this.#admit(); // a smaller one behind it may fit
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
