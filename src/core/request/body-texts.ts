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
