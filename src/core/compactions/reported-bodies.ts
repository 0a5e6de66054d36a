import { BoundedMap } from '../../base/bounded-map.ts';

interface ReportedBody {
  readonly messages: number;
  /** Hash over the reported messages. */
  readonly prefix: string;
}

const MAX_BODIES = 5_000;

/** Remembers how many messages of a body were already reported, for requests whose pruning is off: no memo has them. */
export class ReportedBodies {
  readonly #reported = new BoundedMap<string, ReportedBody>(MAX_BODIES);

  /**
   * Index of the first unreported message.
   *
   * @param key - the conversation and all other facts that must match
   * @param prefixes - for each message, a hash over all messages up to it
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
