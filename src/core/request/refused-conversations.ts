import type { Store } from '../ports.ts';
import type { ReadBody } from './read.ts';

const MAX_REMEMBERED = 10_000;

/**
 * Conversations that are forwarded as they come, because a provider refused one of their pruned requests. A conversation is
 * recognised by its messages: every later request begins with those of the refused one.
 */
export class RefusedConversations {
  readonly #store: Store;
  readonly #hashes = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Reads what earlier and other processes recorded. */
  async load(): Promise<void> {
    for (const hash of await this.#store.refusedConversations()) this.#hashes.add(hash);
  }

  /** Whether a request contains the last message of a refused one, by any key of its messages. */
  covers({ prefixes, resultKeys }: Pick<ReadBody, 'prefixes' | 'resultKeys'>): boolean {
    if (this.#hashes.size === 0) return false;
    return [...prefixes, ...resultKeys.values()].some((key) => this.#hashes.has(key));
  }

  /**
   * Leaves the conversation of a refused request alone from now on; durable when it resolves.
   *
   * @throws StoreUnavailable when it is recorded in this process only
   */
  async add(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      if (this.#hashes.size >= MAX_REMEMBERED) this.#hashes.delete(this.#hashes.values().next().value ?? '');
      this.#hashes.add(key);
    }
    await Promise.all(keys.map((key) => this.#store.markRefused(key)));
  }
}
