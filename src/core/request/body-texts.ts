import { decodeString, type Span } from '../../wires/json/cursor.ts';

/** The strings of a body. Each is decoded at most once, however many parts of the program read it. */
export class BodyTexts {
  readonly bytes: Buffer;
  readonly #decoded = new Map<number, string | null>();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** The decoded string at a place, quotes included; `null` if there is no JSON string. */
  at({ start, end }: Span): string | null {
    const known = this.#decoded.get(start);
    if (known !== undefined) return known;
    const text = decodeString(this.bytes, start, end);
    this.#decoded.set(start, text);
    return text;
  }
}

/**
 * About three million tokens, more than any model accepts. Also the most bytes that two million characters take in
 * JSON.
 */
const MAX_LITERAL_BYTES = 12 * 1024 * 1024;

/**
 * Whether a string of a body is too long to be decoded. Decoding one of 60 MB would block all other requests for two
 * seconds.
 */
export function isTooLong({ start, end }: Span): boolean {
  return end - start > MAX_LITERAL_BYTES;
}
