import { createHash } from 'node:crypto';
import type { ScannedMessage } from '../dialects/chat-body.ts';
import type { Store } from './ports.ts';

const MAX_REMEMBERED = 10_000;

/**
 * Conversations that the proxy leaves alone, because an upstream refused one of their pruned requests. A conversation
 * is known by its messages: every later request of it begins with those of the refused one.
 */
export class LeftAlone {
  readonly #store: Store;
  readonly #hashes = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Reads what earlier runs and other processes noted. */
  async load(): Promise<void> {
    for (const hash of await this.#store.leftAlone()) this.#hashes.add(hash);
  }

  /** Whether there is any such conversation. */
  get any(): boolean {
    return this.#hashes.size > 0;
  }

  /** Whether these messages begin with those of a refused request. */
  covers(body: Buffer, messages: readonly ScannedMessage[]): boolean {
    return this.any && prefixHashes(body, messages).some((hash) => this.#hashes.has(hash));
  }

  /**
   * Leaves the conversation of a refused request alone from now on; durable when it resolves.
   *
   * @throws StoreUnavailable when it holds for this process only
   */
  async add(body: Buffer, messages: readonly ScannedMessage[]): Promise<void> {
    const hash = prefixHashes(body, messages).at(-1);
    if (hash === undefined) return;
    if (this.#hashes.size >= MAX_REMEMBERED) this.#hashes.delete(this.#hashes.values().next().value ?? '');
    this.#hashes.add(hash);
    await this.#store.markLeftAlone(hash);
  }
}

/** For each message a hash over it and all before it: roles and texts, not the fields that clients move about. */
export function prefixHashes(body: Buffer, messages: readonly ScannedMessage[]): string[] {
  const hash = createHash('sha256');
  return messages.map(({ role, toolCallId, texts }) => {
    hash.update(`\0${role}\0${toolCallId}\0`);
    for (const { literal } of texts) hash.update(body.subarray(literal.start, literal.end));
    return hash.copy().digest('hex').slice(0, 32);
  });
}
