import { LRUCache } from 'lru-cache';
import type { RenderOptions } from '../../engine/text/render.ts';
import type { ScannedMessage } from '../../wires/dialects/dialect.ts';
import { keyOf } from '../hash.ts';
import type { SentMessage, SentText } from '../ports/sent.ts';
import type { Decision, Store } from '../ports.ts';
import type { FoundText } from '../request/found-text.ts';
import type { TextOutcome } from '../request/prefix-memo.ts';

/** Size in bytes below which texts are never cut, whatever the settings. */
const MIN_BYTES = 200;
const CUT: ReadonlySet<string> = new Set(['result', 'words', 'document']);

/** Whether a message contains texts of a kind that can be cut. */
export function containsResultOrWords({ texts }: ScannedMessage): boolean {
  return texts.some(({ use }) => CUT.has(use));
}

/** Whether a message contains texts that could be cut under some settings. */
export function mayBeCut({ role, opaque, texts }: ScannedMessage): boolean {
  if (role === 'other' || role === 'assistant' || opaque) return false;
  return texts.some(({ use, literal }) => CUT.has(use) && literal.end - literal.start >= MIN_BYTES);
}

/**
 * The record of a message that is forwarded whole. If the provider verifies the history, an answer is valid only with
 * the text that it was made from, so that a whole text needs a record too.
 */
export function wholeRecord(prefix: string): SentMessage {
  return { prefix, annotateLines: false, includeMarkers: true, texts: [] };
}

/**
 * The key that records that a provider accepted the cuts of a message. It is separate from the message's own record,
 * which is written before the message is sent.
 */
export function acceptedPrefix(prefix: string): string {
  return keyOf('taken', prefix);
}

/** Stands for a conversation's shortened tools wherever cut messages are named by their prefixes. */
export function shelfPrefix(conversationId: string): string {
  return keyOf('shelf', conversationId);
}

/** The key that records that a conversation permanently belongs to the control group. */
export function controlPrefix(shownId: string): string {
  return keyOf('held out', shownId);
}

/** The key of earlier versions for that, which recorded nothing else of such a conversation. */
export function earlierControlPrefix(conversationId: string): string {
  return keyOf('control', conversationId);
}

/**
 * Records of the messages that are about to be sent: the cuts that the proxy decided about. Stashed segments are not
 * recorded, because stashing can be undone.
 *
 * @param found - texts with their outcomes, in the same order; `null` for a text that has a record already
 * @param prefixOf - the prefix of a message
 */
export function recordsOf(
  found: readonly (FoundText | null)[],
  outcomes: readonly TextOutcome[],
  decisionOf: (text: FoundText) => Decision | null,
  prefixOf: (messageIndex: number) => string,
  { annotateLines, includeMarkers, shortMarkers }: RenderOptions,
): SentMessage[] {
  const byMessage = new Map<number, SentText[]>();
  found.forEach((text, i) => {
    const decision = text && decisionOf(text);
    if (!text || !decision || text.job.cutWhole || (outcomes[i]?.pruneId ?? null) === null) return;
    const { goal: _goal, basis: _basis, ...kept } = decision;
    const sent = { ...text.place, decision: kept };
    const texts = byMessage.get(text.messageIndex);
    if (texts) texts.push(sent);
    else byMessage.set(text.messageIndex, [sent]);
  });
  const render = { annotateLines, includeMarkers, shortMarkers };
  return [...byMessage].map(([index, texts]) => ({ prefix: prefixOf(index), ...render, texts }));
}

/** Records of sent messages, as far as they are known. */
interface Known {
  readonly sent: ReadonlyMap<string, SentMessage>;
  /** Why the store could not be queried for messages that are not in memory; `null` if it was. */
  readonly failure: unknown;
}

/**
 * Records of messages that were sent. The store keeps them. Those that this process wrote or read are cached, in case
 * the store is unavailable later.
 */
export class SentMemory {
  readonly #store: Pick<Store, 'findSent'>;
  readonly #memory: LRUCache<string, SentMessage>;

  /** @param maxBytes - maximum memory, estimated */
  constructor(store: Pick<Store, 'findSent'>, maxBytes: number) {
    this.#store = store;
    this.#memory = new LRUCache({
      maxSize: Math.max(1, Math.floor(maxBytes)),
      sizeCalculation: ({ texts }) =>
        200 + texts.reduce((sum, { decision }) => sum + 400 + 120 * decision.cuts.length, 0),
    });
  }

  /**
   * Records of sent messages, by prefix. Never rejects.
   *
   * @param skipReason - reason for not querying the store, or `null`
   * @param prefetchKeys - as in `Store.findSent`
   */
  async find(
    prefixes: readonly string[],
    skipReason: unknown = null,
    prefetchKeys?: () => readonly string[],
  ): Promise<Known> {
    const sent = new Map<string, SentMessage>();
    const asked: string[] = [];
    for (const prefix of new Set(prefixes)) {
      const known = this.#memory.get(prefix);
      if (known) sent.set(prefix, known);
      else asked.push(prefix);
    }
    if (asked.length === 0 || skipReason !== null) return { sent, failure: skipReason };
    try {
      for (const [prefix, message] of await this.#store.findSent(asked, prefetchKeys)) {
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
