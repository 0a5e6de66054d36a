import { createHash } from 'node:crypto';
import { BoundedMap } from '../../base/bounded-map.ts';
import type { ScannedMessage } from '../../wires/dialects/dialect.ts';

interface ReportedBody {
  readonly messages: number;
  /** Offset of the byte after the last message, and a hash of all bytes before it. */
  readonly end: number;
  readonly digest: string;
}

const MAX_BODIES = 5_000;

/**
 * Records how many messages of each small body have been reported. Small bodies are not kept in the prefix memo;
 * hashing repeated messages is cheaper than reading them again.
 */
export class ReportedBodies {
  readonly #reported = new BoundedMap<string, ReportedBody>(MAX_BODIES);

  /**
   * Records that a body is reported.
   *
   * @param key - the conversation, and everything else that must be the same
   * @returns index of the first message that was not reported before
   */
  recordUpTo(key: string, body: Buffer, messages: readonly ScannedMessage[]): number {
    const known = this.#reported.get(key);
    const end = messages.at(-1)?.span.end ?? 0;
    const hash = createHash('sha1');
    let first = 0;
    if (known && known.end <= end) {
      hash.update(body.subarray(0, known.end));
      if (hash.copy().digest('base64') === known.digest) first = known.messages;
      if (first === messages.length) return first;
      hash.update(body.subarray(known.end, end));
    } else hash.update(body.subarray(0, end));
    this.#reported.set(key, { messages: messages.length, end, digest: hash.digest('base64') });
    return first;
  }
}
