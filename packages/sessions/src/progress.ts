const WIDTH = 24;
const EVERY_MS = 100;

/** Progress bar on one terminal line, drawn at most ten times a second; a no-op without a terminal. */
export class ProgressBar {
  readonly #write: ((text: string) => void) | null;
  readonly #total: number;
  #drawnAt = Number.NEGATIVE_INFINITY;

  constructor(write: ((text: string) => void) | null, total: number) {
    this.#write = write;
    this.#total = total;
  }

  /** @param done - completed part of the total; fractions move the bar but are not printed */
  show(done: number, note: string): void {
    const now = performance.now();
    if (this.#write === null || now - this.#drawnAt < EVERY_MS) return;
    this.#drawnAt = now;
    const filled = Math.round((Math.min(done, this.#total) / Math.max(1, this.#total)) * WIDTH);
    this.#write(
      `\r\x1b[K[${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}] ${Math.floor(done)}/${this.#total}  ${note}`,
    );
  }

  clear(): void {
    if (this.#write !== null && this.#drawnAt !== Number.NEGATIVE_INFINITY) this.#write('\r\x1b[K');
  }
}
