import { decodeString, type Span } from '../../wires/json/cursor.ts';

/** Decoded strings of a body. Each is decoded at most once and shared by all readers. */
export class BodyTexts {
  readonly bytes: Buffer;
  readonly #decoded = new Map<number, string | null>();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Decodes the JSON string at a span that includes its quotes; `null` if there is none. */
  at({ start, end }: Span): string | null {
    const known = this.#decoded.get(start);
    if (known !== undefined) return known;
    const text = decodeString(this.bytes, start, end);
    this.#decoded.set(start, text);
    return text;
  }
}

/** About three million tokens, more than any model accepts. Two million characters never take more bytes in JSON. */
const MAX_LITERAL_BYTES = 12 * 1024 * 1024;

/**
 * Whether a string of a body is too long to be decoded. Decoding one of 60 MB would block all other requests for two
 * seconds.
 */
export function isTooLong({ start, end }: Span): boolean {
  return end - start > MAX_LITERAL_BYTES;
}
