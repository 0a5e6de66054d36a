import type { Compaction } from './book.ts';

/** A model at a host. */
export type Answering = Pick<Compaction, 'model' | 'host'>;

export function isSame(a: Answering, b: Answering): boolean {
  return a.model === b.model && a.host === b.host;
}

/** Further switches to other models are not recorded. */
export const MAX_SWITCHES = 60;

/** Which answers of a conversation were made with a block. What a model thought in them is bound to it. */
export class BlockAnswers {
  readonly #sent: readonly Compaction[];
  readonly #switches: readonly Compaction[];

  /**
   * @param sent - compactions that were sent, newest first
   * @param known - with the switches of the conversation
   * @param prefixes - of the request
   */
  constructor(sent: readonly Compaction[], known: readonly Compaction[], prefixes: readonly string[]) {
    this.#sent = sent;
    this.#switches = known
      .filter(({ state, messages, prefix }) => state === 'switched' && prefixes[messages - 1] === prefix)
      .toSorted((a, b) => a.messages - b.messages || a.id - b.id);
  }

  /** Whether the answer at an index was, or is to be, made with a block: with the newest one that had been sent by then. */
  isAt(index: number): boolean {
    const block = this.#sent.find(({ usedMessages }) => usedMessages <= index);
    const answering = this.#switches.findLast(({ messages }) => messages <= index) ?? this.#sent.at(-1);
    return block !== undefined && answering !== undefined && isSame(block, answering);
  }
}
