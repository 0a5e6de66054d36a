import { isUtf8 } from 'node:buffer';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Maximum nesting of lists and objects. Set by hand: far beyond any request; takes 8 MB of memory. */
const MAX_LEVELS = 1_000_000;

/** Maximum number of values skipped in one text. Set by hand: far beyond any request; takes half a second. */
const MAX_SKIPPED = 1_000_000;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Why bytes were not read: they are not the expected JSON, or contain more than may be examined. */
type ShapeFault = 'body_not_understood' | 'too_many_messages';

/** The bytes are not the expected JSON, or contain more than may be examined. Callers then forward them unchanged. */
export class JsonShapeError extends Error {
  override readonly name = 'JsonShapeError';
  readonly code: ShapeFault;

  constructor(message: string, { code = 'body_not_understood' }: { readonly code?: ShapeFault } = {}) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0; // clients can cause thousands at once, and a stack costs 0.25 ms
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
  }
}

function tooManyValues(): JsonShapeError {
  return new JsonShapeError(`more than ${MAX_SKIPPED} values`, { code: 'too_many_messages' });
}

/** Byte range `[start, end)` of a JSON value; for strings including the quotes. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Masks for comparing the four bytes of a word at once. */
const ONES = 0x01010101;
const HIGH_BITS = 0x80808080;
const BLANKS = 0x20 * ONES;
const BACKSLASHES = BACKSLASH * ONES;
/** Whether a character may follow a backslash, except `u`. */
const ESCAPED = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) ESCAPED[byte] = 1;
const CODE_UNIT = /^u[\da-fA-F]{4}$/;

/**
 * A cursor over JSON bytes. Validates JSON and skips unread values: strings with `indexOf` and four bytes at a time,
 * nested values without recursion. Decodes nothing itself, and does not check whether strings are valid UTF-8.
 */
export class JsonCursor {
  readonly bytes: Buffer;
  at: number;
  readonly #words: DataView;
  #skipped = 0;

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes;
    this.at = at;
    this.#words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Skips white space and returns the next byte (`undefined` at the end). */
  peek(): number | undefined {
    const { bytes } = this;
    let byte = bytes[this.at];
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++this.at];
    return byte;
  }

  /** Takes the byte if it is next (after white space). */
  take(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.at++;
    return true;
  }

  expect(byte: number): void {
    if (!this.take(byte)) throw new JsonShapeError(`expected ${String.fromCharCode(byte)} at byte ${this.at}`);
  }

  atString(): boolean {
    return this.peek() === QUOTE;
  }

  atObject(): boolean {
    return this.peek() === OPEN_BRACE;
  }

  atArray(): boolean {
    return this.peek() === OPEN_BRACKET;
  }

  /** Skips a string and returns its range, quotes included. */
  string(): Span {
    if (!this.atString()) throw new JsonShapeError(`expected a string at byte ${this.at}`);
    const start = this.at;
    let quote = start;
    do {
      quote = this.bytes.indexOf(QUOTE, quote + 1);
      if (quote < 0) throw new JsonShapeError(`unterminated string at byte ${start}`);
    } while (this.#escaped(quote, start));
    this.#checkString(start + 1, quote);
    this.at = quote + 1;
    return { start, end: this.at };
  }

  /** @throws JsonShapeError if the inside of a string has a control character or an unknown escape */
  #checkString(from: number, end: number): void {
    let at = from;
    while (at + 4 <= end) {
      const word = this.#words.getUint32(at, true);
      const others = word ^ BACKSLASHES;
      // a byte below 0x20, or a backslash: Hacker's Delight, 6-1
      const isSpecial = ((word - BLANKS) & ~word & HIGH_BITS) | ((others - ONES) & ~others & HIGH_BITS);
      if (isSpecial === 0) at += 4;
      else for (const stop = at + 4; at < stop; ) at = this.#checkByte(at, end);
    }
    while (at < end) at = this.#checkByte(at, end);
  }

  /** @returns the offset of the next character */
  #checkByte(at: number, end: number): number {
    const byte = this.bytes[at] ?? 0;
    if (byte < 0x20) throw new JsonShapeError(`control character in a string at byte ${at}`);
    if (byte !== BACKSLASH) return at + 1;
    if (ESCAPED[this.bytes[at + 1] ?? 0] === 1) return at + 2;
    const isCodeUnit = at + 6 <= end && CODE_UNIT.test(this.bytes.toString('latin1', at + 1, at + 6));
    if (!isCodeUnit) throw new JsonShapeError(`unknown escape in a string at byte ${at}`);
    return at + 6;
  }

  #escaped(quote: number, start: number): boolean {
    let i = quote - 1;
    while (i > start && this.bytes[i] === BACKSLASH) i--;
    return (quote - i) % 2 === 0;
  }

  /**
   * Skips any value and returns its range.
   *
   * @throws JsonShapeError `too_many_messages` if this cursor skips more than a million values in total
   */
  value(): Span {
    this.peek();
    const start = this.at;
    const open: number[] = [];
    for (;;) {
      if (++this.#skipped > MAX_SKIPPED) throw tooManyValues();
      const byte = this.peek();
      if (byte === OPEN_BRACE) {
        this.at++;
        if (!this.take(CLOSE_BRACE)) {
          this.#push(open, CLOSE_BRACE);
          this.#key();
          continue;
        }
      } else if (byte === OPEN_BRACKET) {
        this.at++;
        if (!this.take(CLOSE_BRACKET)) {
          this.#push(open, CLOSE_BRACKET);
          continue;
        }
      } else if (byte === QUOTE) this.string();
      else this.#scalar();
      if (!this.#closeOrNext(open)) return { start, end: this.at };
    }
  }

  #push(open: number[], closing: number): void {
    if (open.length === MAX_LEVELS) throw new JsonShapeError(`more than ${MAX_LEVELS} levels at byte ${this.at}`);
    open.push(closing);
  }

  /**
   * Called after a value: skips closing brackets; returns `false` once the outermost value is complete, `true` before a
   * next one.
   */
  #closeOrNext(open: number[]): boolean {
    for (let closing = open.at(-1); closing !== undefined; closing = open.at(-1)) {
      if (this.take(COMMA)) {
        if (closing === CLOSE_BRACE) this.#key();
        return true;
      }
      this.expect(closing);
      open.pop();
    }
    return false;
  }

  #key(): void {
    this.string();
    this.expect(COLON);
  }

  #scalar(): void {
    const { bytes } = this;
    const start = this.at;
    for (let byte = bytes[this.at]; byte !== undefined; byte = bytes[++this.at]) {
      if (byte <= 0x20 || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || byte === COLON) break;
    }
    const word = bytes.toString('latin1', start, this.at);
    if (word !== 'true' && word !== 'false' && word !== 'null' && !NUMBER.test(word)) {
      throw new JsonShapeError(`unexpected value at byte ${start}`);
    }
  }

  /**
   * Walks an object and calls `visit` with each key. `visit` may consume the value; otherwise it is skipped. Returns
   * the object's range.
   */
  object(visit: (key: string) => void): Span {
    this.peek();
    const start = this.at;
    this.expect(OPEN_BRACE);
    if (!this.take(CLOSE_BRACE)) {
      do {
        this.member(visit);
      } while (this.take(COMMA));
      this.expect(CLOSE_BRACE);
    }
    return { start, end: this.at };
  }

  /** Reads one `"key": value` pair of an object. */
  member(visit: (key: string) => void): void {
    const key = this.string();
    this.expect(COLON);
    this.peek();
    const before = this.at;
    visit(this.keyText(key));
    if (this.at === before) this.value();
  }

  /** Walks an array. `visit` may consume each element; otherwise the element is skipped. */
  array(visit: (index: number) => void): Span {
    this.peek();
    const start = this.at;
    this.expect(OPEN_BRACKET);
    if (!this.take(CLOSE_BRACKET)) {
      let index = 0;
      do {
        this.peek();
        const before = this.at;
        visit(index++);
        if (this.at === before) this.value();
      } while (this.take(COMMA));
      this.expect(CLOSE_BRACKET);
    }
    return { start, end: this.at };
  }

  /** The text of a key; `''` if the key is too long to be relevant. */
  keyText({ start, end }: Span): string {
    if (end - start > 258) return '';
    const text = this.bytes.toString('latin1', start + 1, end - 1);
    return text.includes('\\') ? (this.text({ start, end }) ?? '') : text;
  }

  /** Decodes a string value; `null` if its bytes are not a valid JSON string or not valid UTF-8. */
  text({ start, end }: Span): string | null {
    return decodeString(this.bytes, start, end);
  }
}

/** Decodes the JSON string at `[start, end)`, quotes included; `null` when it is not valid. */
export function decodeString(bytes: Buffer, start: number, end: number): string | null {
  const raw = bytes.toString('utf8', start, end);
  // The decoder replaces invalid UTF-8 with U+FFFD; such a string could not be restored exactly.
  if (raw.includes('\ufffd') && !isUtf8(bytes.subarray(start, end))) return null;
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}
