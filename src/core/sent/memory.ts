import { LRUCache } from 'lru-cache';
import type { SentMessage } from '../ports/sent.ts';
import type { Store } from '../ports.ts';

/** Records of messages that were sent, as far as they are known. */
export interface Known {
  readonly sent: ReadonlyMap<string, SentMessage>;
  /** Why the store could not be asked about messages that are not in memory; `null` when it was. */
  readonly failure: unknown;
}

/**
 * Records of messages that were sent. The store has them; those that this process wrote or looked up are cached, for the
 * store may fail when they are needed.
 */
export class SentMemory {
  readonly #store: Pick<Store, 'findSent'>;
  readonly #memory: LRUCache<string, SentMessage>;

  /** @param maxBytes - most memory, estimated */
  constructor(store: Pick<Store, 'findSent'>, maxBytes: number) {
    this.#store = store;
    this.#memory = new LRUCache({
      maxSize: Math.max(1, Math.floor(maxBytes)),
      sizeCalculation: ({ texts }) =>
        200 + texts.reduce((sum, { decision }) => sum + 400 + 120 * decision.cuts.length, 0),
    });
  }

  /**
   * What was sent of messages, by their prefixes. Never rejects.
   *
   * @param unasked - why the store is not to be asked; `null` when it is
   * @param soon - as in `Store.findSent`
   */
  async find(prefixes: readonly string[], unasked: unknown = null, soon?: () => readonly string[]): Promise<Known> {
    const sent = new Map<string, SentMessage>();
    const asked: string[] = [];
    for (const prefix of new Set(prefixes)) {
      const known = this.#memory.get(prefix);
      if (known) sent.set(prefix, known);
      else asked.push(prefix);
    }
    if (asked.length === 0 || unasked !== null) return { sent, failure: unasked };
    try {
      for (const [prefix, message] of await this.#store.findSent(asked, soon)) {
        sent.set(prefix, message);
        this.#memory.set(prefix, message);
      }
      return { sent, failure: null };
    } catch (failure) {
      return { sent, failure };
    }
  }

  /**
   * Reads records that another process wrote first.
   *
   * @throws StoreUnavailable
   */
  async reread(prefixes: readonly string[]): Promise<ReadonlyMap<string, SentMessage>> {
    for (const prefix of prefixes) this.#memory.delete(prefix);
    const sent = await this.#store.findSent(prefixes);
    this.add([...sent.values()]);
    return sent;
  }

  /** Caches records that were stored and are about to be sent. */
  add(messages: readonly SentMessage[]): void {
    for (const message of messages) this.#memory.set(message.prefix, message);
  }
}
