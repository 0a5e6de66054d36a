/** Longest time that requests wait for more connections, in milliseconds. */
const HELD_MS = 25;

/**
 * Accepts all waiting connections before any request is served. The event loop accepts one connection per turn. Of many
 * clients that connect together, the first would otherwise be served several times before the last is accepted.
 */
export class AcceptBatcher {
  readonly #nowMs: () => number;
  #came = false;
  #isLooking = false;
  #sinceMs = 0;
  #held: (() => void)[] = [];

  /** @param nowMs - a clock that does not jump */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Records that a connection was accepted. */
  came(): void {
    this.#came = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#sinceMs = this.#nowMs();
    setImmediate(this.#look);
  }

  /** Serves a request at once or, while connections are being accepted, after the first turn that accepts none. */
  serve(go: () => void): void {
    if (this.#isLooking) this.#held.push(go);
    else go();
  }

  #look = (): void => {
    const waits = this.#came && this.#nowMs() - this.#sinceMs < HELD_MS;
    this.#came = false;
    if (waits) {
      setImmediate(this.#look);
      return;
    }
    this.#isLooking = false;
    for (const go of this.#held.splice(0)) go();
  };
}
