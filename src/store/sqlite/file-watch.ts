/** Interval of checks for commits by other processes; each is one statement that reads no page of the file. */
const LOOK_MS = 1_000;

/** Detects commits of other connections to a file, while there are listeners. */
export class FileWatch {
  readonly #version: () => string | null;
  readonly #listeners = new Set<() => void>();
  #seen: string | null = null;
  #timer: NodeJS.Timeout | undefined;

  /** @param version - changes after a commit of another connection; `null` while the file cannot be read */
  constructor(version: () => string | null) {
    this.#version = version;
  }

  /** Calls the listener within a second after such commits. The returned function unsubscribes. */
  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    if (this.#timer === undefined) {
      this.#seen = this.#version();
      this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.close();
    };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const version = this.#version();
    if (version === null || version === this.#seen) return;
    this.#seen = version;
    for (const listener of this.#listeners) listener();
  }
}
