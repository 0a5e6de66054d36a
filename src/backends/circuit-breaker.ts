import type { Clock } from '../core/ports.ts';

export interface BreakerOptions {
  readonly clock: Clock;
  /** So many failures of one kind in a row open it. */
  readonly threshold: number;
  /** How long it stays open before one call may try again, in milliseconds, unless the service says how long. */
  readonly openMs: number;
  /** Told when it opens (with the kind of the failures) and when it closes (`null`). */
  readonly onChange?: (openedBy: string | null) => void;
}

/**
 * Keeps calls from a service that fails again and again. Only equal failures count together: what fails in ever new
 * ways is not dead.
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

  /** Whether a call may be made. One that is admitted must be followed by exactly one of the three reports below. */
  admits(): boolean {
    if (this.#openedAtMs === null) return true;
    if (this.#trying) return false;
    const waitedMs = this.#options.clock.nowMs() - this.#openedAtMs;
    if (waitedMs >= 0 && waitedMs < this.#openForMs) return false; // below 0 the clock was set back
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

  /** @param waitMs - how long the service asks to be left alone; it then is, after a first failure already */
  failed(kind: string, waitMs: number | null = null): void {
    this.#inARow = kind === this.#kind ? this.#inARow + 1 : 1;
    this.#kind = kind;
    this.#trying = false;
    if (!this.isOpen && waitMs === null && this.#inARow < this.#options.threshold) return;
    if (!this.isOpen) this.#options.onChange?.(kind);
    this.#openedAtMs = this.#options.clock.nowMs();
    this.#openForMs = waitMs ?? this.#options.openMs;
  }

  /** The call came to no end that says anything: its callers left. */
  cancelled(): void {
    this.#trying = false;
  }
}
