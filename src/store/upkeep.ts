import type { FailureReporter } from '../failures.ts';
/** What is kept in shape: one small step at a time; `true` when the next one has something to do as well. */
export interface Sweepable {
  sweep(): Promise<boolean>;
  /** Whether there is so much to do that no pause may be waited for. */
  pressed?(): boolean;
}

/** Pauses between steps: when there is more to do, and when there is not. */
const MORE_MS = 50;
const PRESSED_MS = 5;
const IDLE_MS = 2_000;
/** Nobody is in the way once there was no request for so long; under requests that never pause it begins all the same. */
const CALM_MS = 1_000;
const LATEST_MS = 30_000;

/** Keeps a store in shape in small steps, in the pauses between requests. */
export class Upkeep {
  readonly #store: Sweepable;
  readonly #onFailure: FailureReporter;
  #timer: NodeJS.Timeout | undefined;
  #requestAt = Number.NEGATIVE_INFINITY;
  #doneAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(store: Sweepable, onFailure: FailureReporter) {
    this.#store = store;
    this.#onFailure = onFailure;
    this.#later(MORE_MS);
  }

  /** Takes note that there is a request to be served first. */
  request(): void {
    this.#requestAt = performance.now();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #later(ms: number): void {
    if (!this.#closed) this.#timer = setTimeout(() => void this.#next(), ms).unref();
  }

  async #next(): Promise<void> {
    const now = performance.now();
    const calmIn = this.#requestAt + CALM_MS - now;
    const pressed = this.#store.pressed?.() ?? false;
    if (!pressed && calmIn > 0 && now - this.#doneAt < LATEST_MS) return this.#later(calmIn);
    const more = await this.#store.sweep().catch((cause: unknown) => {
      this.#onFailure('not_swept', cause);
      return false;
    });
    // what was begun is finished, or a store that is always in use would never come to its end
    if (!more) this.#doneAt = performance.now();
    this.#later(more ? (pressed ? PRESSED_MS : MORE_MS) : IDLE_MS);
  }
}
