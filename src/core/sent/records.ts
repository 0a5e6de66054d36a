import { LRUCache } from 'lru-cache';
import { type Work, waitFor } from '../../base/work.ts';
import type { RenderOptions } from '../../engine/text/render.ts';
import type { ScannedMessage } from '../../wires/dialects/dialect.ts';
import type { LookedUpAhead } from '../decide/decision-cache.ts';
import { keyOf } from '../hash.ts';
import type { Decision, LookUp, SentMessage, SentText, Store } from '../ports.ts';
import type { FoundText } from '../request/found-text.ts';
import type { TextOutcome } from '../request/prefix-memo.ts';

/** Texts below this size in bytes are never cut under any settings. */
export const MIN_BYTES = 200;
const CUT: ReadonlySet<string> = new Set(['result', 'words', 'document']);

/** Whether a message contains texts of a cuttable kind. */
export function containsResultOrWords({ texts }: ScannedMessage): boolean {
  return texts.some(({ use }) => CUT.has(use));
}

/** Whether a message contains texts that some settings could cut. */
export function mayBeCut({ role, opaque, texts }: ScannedMessage): boolean {
  if (role === 'other' || role === 'assistant' || opaque) return false;
  return texts.some(({ use, literal }) => CUT.has(use) && literal.end - literal.start >= MIN_BYTES);
}

/**
 * Record of a message that is forwarded whole. Needed if the provider verifies the history, because an answer is only
 * valid together with exactly the text that was sent.
 */
export function wholeRecord(prefix: string): SentMessage {
  return { prefix, annotateLines: false, includeMarkers: true, texts: [] };
}

/**
 * Key of the record that a provider accepted a message's cuts. Separate from the message's own record, which is written
 * before sending.
 */
export function acceptedPrefix(prefix: string): string {
  return keyOf('taken', prefix);
}

/** Key of the record that a conversation permanently belongs to the control group. */
export function controlPrefix(shownId: string): string {
  return keyOf('held out', shownId);
}

/**
 * Builds records for messages that are about to be sent. Only the proxy's own cuts are recorded, not stashed segments,
 * because a stash can be undone.
 *
 * @param found - texts and their outcomes in the same order; `null` for a text that already has a record
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

/** Known records of sent messages. */
interface Known {
  readonly sent: ReadonlyMap<string, SentMessage>;
  /** Why the store could not be queried for messages that are not in memory; `null` if it was queried. */
  readonly failure: unknown;
  /** What else was looked up; `null` if the store was not asked. */
  readonly ahead: LookedUpAhead | null;
}

/** Records that this process has written or read, in a file of its own. */
export interface OwnRecords {
  /** Never rejects. */
  find(prefixes: readonly string[]): Promise<ReadonlyMap<string, SentMessage>>;
  /** Returns at once; the records are written later. */
  add(messages: readonly SentMessage[]): void;
}

/**
 * Records of sent messages. The store is authoritative; records written or read by this process are cached for when the
 * store is unavailable.
 */
export class SentMemory {
  readonly #store: Pick<Store, 'lookUp' | 'hasNoSent'>;
  readonly #memory: LRUCache<string, SentMessage>;
  readonly #own: OwnRecords | undefined;

  /**
   * @param maxBytes - maximum memory, estimated
   * @param own - asked for what is not in memory if the store cannot be
   */
  constructor(store: Pick<Store, 'lookUp' | 'hasNoSent'>, maxBytes: number, own?: OwnRecords) {
    this.#store = store;
    this.#own = own;
    this.#memory = new LRUCache({
      maxSize: Math.max(1, Math.floor(maxBytes)),
      sizeCalculation: ({ texts }) =>
        200 + texts.reduce((sum, { decision }) => sum + 400 + 120 * decision.cuts.length, 0),
    });
  }

  /**
   * Records of sent messages, by prefix. Never throws.
   *
   * @param skipReason - reason to skip the store, or `null`
   * @param more - what else to look up of the request, if the store is asked at all
   */
  *find(
    prefixes: readonly string[],
    skipReason: unknown = null,
    more?: () => Required<Pick<LookUp, 'keys' | 'hashes'>>,
  ): Work<Known> {
    const sent = new Map<string, SentMessage>();
    const asked: string[] = [];
    for (const prefix of new Set(prefixes)) {
      const known = this.#memory.get(prefix);
      if (known) sent.set(prefix, known);
      else asked.push(prefix);
    }
    if (asked.length === 0) return { sent, failure: skipReason, ahead: null };
    let found: ReadonlyMap<string, SentMessage>;
    let ahead: LookedUpAhead | null = null;
    let failure = skipReason;
    try {
      if (failure === null) {
        const { keys = [], hashes = [] } = more?.() ?? {};
        const { sent: stored, ...others } = yield* waitFor(this.#store.lookUp({ prefixes: asked, keys, hashes }));
        found = stored;
        ahead = { ...others, keys: new Set(keys), hashes: new Set(hashes) };
      } else found = yield* this.#findOwn(asked);
    } catch (cause) {
      failure = cause;
      found = yield* this.#findOwn(asked);
    }
    for (const [prefix, message] of found) {
      sent.set(prefix, message);
      this.#memory.set(prefix, message);
    }
    if (failure === null) this.#own?.add([...found.values()]);
    return { sent, failure, ahead };
  }

  /** Whether there are certainly no records, as far as this can be known at once. Never throws. */
  hasNone(prefixes: readonly string[]): boolean {
    for (const prefix of prefixes) if (this.#memory.has(prefix)) return false;
    return this.#store.hasNoSent?.(prefixes) === true;
  }

  /**
   * Reads records that another process wrote first.
   *
   * @throws StoreUnavailable
   */
  *reread(prefixes: readonly string[]): Work<ReadonlyMap<string, SentMessage>> {
    for (const prefix of prefixes) this.#memory.delete(prefix);
    const { sent } = yield* waitFor(this.#store.lookUp({ prefixes }));
    this.add([...sent.values()]);
    return sent;
  }

  *#findOwn(prefixes: readonly string[]): Work<ReadonlyMap<string, SentMessage>> {
    return this.#own ? yield* waitFor(this.#own.find(prefixes)) : new Map();
  }

  /** Caches stored records of messages that are about to be sent. */
  add(messages: readonly SentMessage[]): void {
    for (const message of messages) this.#memory.set(message.prefix, message);
    this.#own?.add(messages);
  }
}
