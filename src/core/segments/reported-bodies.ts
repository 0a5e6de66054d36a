import { BoundedMap } from '../../base/bounded-map.ts';

interface ReportedBody {
  readonly messages: number;
  /** Hash of these messages. */
  readonly prefix: string;
}

const MAX_BODIES = 5_000;

/** Remembers how many messages of each small body were reported. Small bodies are not kept in the prefix memo. */
export class ReportedBodies {
  readonly #reported = new BoundedMap<string, ReportedBody>(MAX_BODIES);

  /**
   * Index of the first message that was not reported before.
   *
   * @param key - the conversation, and everything else that must be the same
   * @param prefixes - for each message a hash of it and of all messages before it
   */
  firstNew(key: string, prefixes: readonly string[]): number {
    const known = this.#reported.get(key);
    return known !== undefined && prefixes[known.messages - 1] === known.prefix ? known.messages : 0;
  }

  /** Records that all messages of a body were reported. */
  add(key: string, prefixes: readonly string[]): void {
    this.#reported.set(key, { messages: prefixes.length, prefix: prefixes.at(-1) ?? '' });
  }
}
