/** Maximum time that requests are held back for more connections, in milliseconds. */
const MAX_HOLD_MS = 25;

/**
 * Accepts all waiting connections before any request is served. The event loop accepts one connection per turn.
 * Otherwise, if many clients connect at once, the first is served several times before the last is accepted.
 */
export class AcceptBatcher {
  readonly #nowMs: () => number;
  #hasAccepted = false;
  #isPolling = false;
  #sinceMs = 0;
  #held: (() => void)[] = [];

  /** @param nowMs - a monotonic clock */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Records that a connection was accepted. */
  connectionAccepted(): void {
    this.#hasAccepted = true;
    if (this.#isPolling) return;
    this.#isPolling = true;
    this.#sinceMs = this.#nowMs();
    setImmediate(this.#poll);
  }

  /** Whether requests are being held back. */
  get isHolding(): boolean {
    return this.#isPolling;
  }

  /** Serves a request at once or, while connections are being accepted, after the first turn without a new one. */
  serve(go: () => void): void {
    if (this.#isPolling) this.#held.push(go);
    else go();
  }

  #poll = (): void => {
    const waits = this.#hasAccepted && this.#nowMs() - this.#sinceMs < MAX_HOLD_MS;
    this.#hasAccepted = false;
    if (waits) {
      setImmediate(this.#poll);
      return;
    }
    this.#isPolling = false;
    for (const go of this.#held.splice(0)) go();
  };
}
