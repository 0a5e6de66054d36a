import type { Store } from './ports.ts';

const MAX_REMEMBERED = 10_000;

/**
 * Conversations that go as they came, because an upstream refused one of their pruned requests. A conversation
 * is known by its messages: every later request of it begins with those of the refused one.
 */
export class RefusedConversations {
  readonly #store: Store;
  readonly #hashes = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Reads what earlier runs and other processes noted. */
  async load(): Promise<void> {
    for (const hash of await this.#store.refusedConversations()) this.#hashes.add(hash);
  }

  /**
   * Whether a request begins with the messages of a refused one.
   *
   * @param prefixes - for each of its messages what stands for it and all before it
   */
  covers(prefixes: readonly string[]): boolean {
    return this.#hashes.size > 0 && prefixes.some((prefix) => this.#hashes.has(prefix));
  }

  /**
   * From now on the conversation of a refused request goes as it came; durable when it resolves.
   *
   * @throws StoreUnavailable when it holds for this process only
   */
  async add(prefixes: readonly string[]): Promise<void> {
    const prefix = prefixes.at(-1);
    if (prefix === undefined) return;
    if (this.#hashes.size >= MAX_REMEMBERED) this.#hashes.delete(this.#hashes.values().next().value ?? '');
    this.#hashes.add(prefix);
    await this.#store.markRefused(prefix);
  }
}
