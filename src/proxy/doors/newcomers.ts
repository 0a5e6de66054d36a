/** Requests wait so long at most for more connections to come in, in milliseconds. */
const HELD_MS = 25;

/**
 * Lets all come in that stand at the door before anybody is served. The event loop takes in one connection a turn; of many
 * that come together the first would be served time and again before the last is let in.
 */
export class Newcomers {
  readonly #nowMs: () => number;
  #came = false;
  #isLooking = false;
  #sinceMs = 0;
  #held: (() => void)[] = [];

  /** @param nowMs - a clock that does not jump */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** A connection came in. */
  came(): void {
    this.#came = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#sinceMs = this.#nowMs();
    setImmediate(this.#look);
  }

  /** Serves a request: at once or, where connections have just come, at the end of the first turn that brought none. */
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
