import type { Clock } from 'mcp-pruner/core/ports.ts';

interface BreakerOptions {
  readonly clock: Clock;
  /** Number of consecutive failures of one kind that open the breaker. */
  readonly threshold: number;
  /** Time before a trial call once open, in milliseconds, unless the service requests another time. */
  readonly openMs: number;
  /** Called when the breaker opens (with the kind of failure) and closes (`null`). */
  readonly onChange?: (openedBy: string | null) => void;
}

/**
 * Stops calls to a service that fails repeatedly. Only equal failures count together: a service that fails in different
 * ways still works partially.
 */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  #kind = '';
  #inARow = 0;
  #openedAtMs: number | null = null;
  #openForMs = 0;
  #trying = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#openedAtMs !== null;
  }

  /** Whether a call may be made. Each admitted call must be followed by exactly one of the three methods below. */
  admits(): boolean {
    if (this.#openedAtMs === null) return true;
    if (this.#trying) return false;
    const waitedMs = this.#options.clock.nowMs() - this.#openedAtMs;
    if (waitedMs >= 0 && waitedMs < this.#openForMs) return false; // negative if the clock was set back
    this.#trying = true;
    return true;
  }

  succeeded(): void {
    const wasOpen = this.isOpen;
    this.#kind = '';
    this.#inARow = 0;
    this.#openedAtMs = null;
    this.#trying = false;
    if (wasOpen) this.#options.onChange?.(null);
  }

  /** @param waitMs - pause requested by the service, which opens the breaker at the first failure */
  failed(kind: string, waitMs: number | null = null): void {
    this.#inARow = kind === this.#kind ? this.#inARow + 1 : 1;
    this.#kind = kind;
    this.#trying = false;
    if (!this.isOpen && waitMs === null && this.#inARow < this.#options.threshold) return;
    if (!this.isOpen) this.#options.onChange?.(kind);
    this.#openedAtMs = this.#options.clock.nowMs();
    this.#openForMs = waitMs ?? this.#options.openMs;
  }

  /** Reports a call without a result, because its callers left. */
  cancelled(): void {
    this.#trying = false;
  }
}
