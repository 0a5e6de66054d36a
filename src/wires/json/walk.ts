import { isUtf8 } from 'node:buffer';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COMMA = 0x2c;
const COLON = 0x3a;
const LETTER_U = 0x75;

/** Classes of bytes inside a string: 0 ordinary, 1 quote, 2 backslash, 3 forbidden. */
const IN_STRING = new Uint8Array(256);
IN_STRING.fill(3, 0, 0x20);
IN_STRING[QUOTE] = 1;
IN_STRING[BACKSLASH] = 2;
/** Whether a byte may follow a backslash, except `u`. */
const ESCAPED = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) ESCAPED[byte] = 1;
const HEX = new Uint8Array(256);
for (const byte of Buffer.from('0123456789abcdefABCDEF')) HEX[byte] = 1;
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d{0,400})(?:\.\d{1,400})?(?:[eE][+-]?\d{1,400})?)$/;

/** Limits far beyond any request; a body that exceeds one is left to the dialect. */
const MAX_DEPTH = 500;
const MAX_VALUES = 100_000;
const MAX_MESSAGES = 15_000;

/** What the `role` or the `type` of a message says. */
const Mark = { Absent: 0, Fixed: 1, Message: 2, Other: 3, Repeated: 4 } as const;
type Mark = (typeof Mark)[keyof typeof Mark];

/** What a walk has to know of a wire. */
export interface WalkShape {
  /** Key of the list of messages. */
  readonly list: string;
  /** The `role` of the model, and the values of `role` with which a message holds no text that is ever cut. */
  readonly model: string;
  readonly roles: ReadonlySet<string>;
  /**
   * Values of `type` with the same meaning, on wires that tell items apart by it; their `role` counts only in items
   * without a `type`, or with the type `message`. Absent on wires whose messages have no type.
   */
  readonly types?: ReadonlySet<string>;
  /** Keys of strings inside messages that are never cut. */
  readonly aside: ReadonlySet<string>;
}

/**
 * Walks the bytes of a request once and says how long the longest string is that could be cut. It decodes nothing,
 * allocates nothing per value, and is stricter than the dialects: what it accepts, they accept. It counts every string
 * of a message that is not certainly the model's or an instruction, so it may find more than the dialect, never less.
 */
export class BodyWalk {
  /** Size in bytes, quotes included, of the longest string that could be cut. */
  longest = 0;
  /** Number of messages walked. */
  messages = 0;
  /** Offset of the byte after the last message. */
  end = 0;
  /** Whether one of the messages is the model's. */
  isAnswered = false;

  #bytes: Buffer = Buffer.alloc(0);
  #shape: WalkShape = { list: '', model: '', roles: new Set(), aside: new Set() };
  #values = 0;
  #keyStart = 0;
  #keyEnd = 0;
  /** Of the message being walked: its longest string, its role and type. */
  #ofMessage = 0;
  #role: Mark = Mark.Absent;
  #isModel = false;
  #type: Mark = Mark.Absent;
  readonly #open = new Uint8Array(MAX_DEPTH);

  /**
   * @param from - offset of the byte after the last known message; 0 walks the whole body
   * @returns whether the body is certainly understood; if not, the fields mean nothing
   */
  walk(bytes: Buffer, from: number, shape: WalkShape): boolean {
    this.#bytes = bytes;
    this.#shape = shape;
    this.longest = 0;
    this.messages = 0;
    this.end = from;
    this.isAnswered = false;
    this.#values = 0;
    if (!isUtf8(from === 0 ? bytes : bytes.subarray(from))) return false;
    return from === 0 ? this.#whole() : this.#rest(from);
  }

  #whole(): boolean {
    let at = this.#blank(0);
    if (this.#bytes[at] !== OPEN_BRACE) return false;
    let isListed = false;
    do {
      at = this.#key(this.#blank(at + 1));
      if (at < 0 || this.#isEscapedKey()) return false;
      if (this.#isKey(this.#shape.list)) {
        at = this.#blank(at);
        if (isListed || this.#bytes[at] !== OPEN_BRACKET) return false;
        isListed = true;
        at = this.#messagesFrom(at + 1);
      } else at = this.#value(at, false);
      if (at < 0) return false;
      at = this.#blank(at);
    } while (this.#bytes[at] === COMMA);
    return isListed && this.#bytes[at] === CLOSE_BRACE && this.#blank(at + 1) === this.#bytes.length;
  }

  /** Walks the messages and fields after a known message. */
  #rest(from: number): boolean {
    let at = this.#blank(from);
    if (this.#bytes[at] === COMMA) at = this.#messagesFrom(at + 1);
    else if (this.#bytes[at] === CLOSE_BRACKET) at++;
    else return false;
    if (at < 0) return false;
    at = this.#blank(at);
    while (this.#bytes[at] === COMMA) {
      at = this.#key(this.#blank(at + 1));
      if (at < 0 || this.#isEscapedKey() || this.#isKey(this.#shape.list)) return false;
      at = this.#value(at, false);
      if (at < 0) return false;
      at = this.#blank(at);
    }
    return this.#bytes[at] === CLOSE_BRACE && this.#blank(at + 1) === this.#bytes.length;
  }

  /** Walks messages up to the end of their list. @returns the offset after the list, or -1 */
  #messagesFrom(from: number): number {
    let at = this.#blank(from);
    for (;;) {
      if (this.#bytes[at] !== OPEN_BRACE || ++this.messages > MAX_MESSAGES) return -1;
      this.#ofMessage = 0;
      this.#role = Mark.Absent;
      this.#isModel = false;
      this.#type = Mark.Absent;
      at = this.#value(at, true);
      if (at < 0 || this.#isRepeated()) return -1;
      this.end = at;
      const isFixed = this.#isFixed();
      if (!isFixed && this.#ofMessage > this.longest) this.longest = this.#ofMessage;
      if (isFixed && this.#isModel) this.isAnswered = true;
      at = this.#blank(at);
      if (this.#bytes[at] === CLOSE_BRACKET) return at + 1;
      if (this.#bytes[at] !== COMMA) return -1;
      at = this.#blank(at + 1);
    }
  }

  /** Walks any value. @returns the offset after it, or -1 */
  #value(from: number, isMessage: boolean): number {
    const bytes = this.#bytes;
    const open = this.#open;
    let depth = 0;
    let at = from;
    for (;;) {
      at = this.#blank(at);
      if (++this.#values > MAX_VALUES) return -1;
      const byte = bytes[at];
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        const closing = byte + 2;
        at = this.#blank(at + 1);
        if (bytes[at] === closing) at++;
        else {
          if (depth === MAX_DEPTH) return -1;
          open[depth++] = closing;
          if (closing === CLOSE_BRACE) {
            at = this.#key(at);
            if (at < 0 || (isMessage && depth === 1 && this.#isEscapedKey())) return -1;
          }
          continue;
        }
      } else if (byte === QUOTE) {
        const start = at;
        at = this.#string(at);
        if (at < 0) return -1;
        if (isMessage) this.#note(start, at, depth);
      } else {
        at = this.#scalar(at);
        if (at < 0) return -1;
      }
      for (;;) {
        if (depth === 0) return at;
        at = this.#blank(at);
        const closing = open[depth - 1];
        if (bytes[at] === COMMA) {
          at++;
          if (closing === CLOSE_BRACE) {
            at = this.#key(this.#blank(at));
            if (at < 0 || (isMessage && depth === 1 && this.#isEscapedKey())) return -1;
          } else this.#keyStart = this.#keyEnd = 1; // an element has no key
          break;
        }
        if (bytes[at] !== closing) return -1;
        depth--;
        at++;
      }
    }
  }

  /** Notes a string of a message. */
  #note(start: number, end: number, depth: number): void {
    if (depth === 1 && this.#isKey('role')) {
      const role = this.#textOf(start, end);
      this.#isModel = role === this.#shape.model;
      const mark = this.#shape.roles.has(role) ? Mark.Fixed : Mark.Other;
      this.#role = this.#role === Mark.Absent ? mark : Mark.Repeated;
      return;
    }
    if (depth === 1 && this.#shape.types && this.#isKey('type')) {
      const type = this.#textOf(start, end);
      const mark = this.#shape.types.has(type) ? Mark.Fixed : type === 'message' ? Mark.Message : Mark.Other;
      this.#type = this.#type === Mark.Absent ? mark : Mark.Repeated;
      return;
    }
    if (end - start <= this.#ofMessage) return;
    if (this.#shape.aside.size > 0 && this.#shape.aside.has(this.#textOf(this.#keyStart - 1, this.#keyEnd + 1))) return;
    this.#ofMessage = end - start;
  }

  /** Walks a key and its colon. @returns the offset after the colon, or -1 */
  #key(at: number): number {
    if (this.#bytes[at] !== QUOTE) return -1;
    const end = this.#string(at);
    if (end < 0) return -1;
    this.#keyStart = at + 1;
    this.#keyEnd = end - 1;
    const colon = this.#blank(end);
    return this.#bytes[colon] === COLON ? colon + 1 : -1;
  }

  #isFixed(): boolean {
    if (!this.#shape.types) return this.#role === Mark.Fixed;
    const isMessage = this.#type === Mark.Absent || this.#type === Mark.Message;
    return this.#type === Mark.Fixed || (isMessage && this.#role === Mark.Fixed);
  }

  /** Whether two roles or types make the message ambiguous. */
  #isRepeated(): boolean {
    return this.#role === Mark.Repeated || this.#type === Mark.Repeated;
  }

  /** The raw characters of a string whose quotes are included in the range; `''` for a long one. */
  #textOf(start: number, end: number): string {
    return end - start > 60 ? '' : this.#bytes.toString('latin1', start + 1, end - 1);
  }

  #isKey(name: string): boolean {
    if (this.#keyEnd - this.#keyStart !== name.length) return false;
    for (let i = 0; i < name.length; i++) if (this.#bytes[this.#keyStart + i] !== name.charCodeAt(i)) return false;
    return true;
  }

  #isEscapedKey(): boolean {
    for (let at = this.#keyStart; at < this.#keyEnd; at++) if (this.#bytes[at] === BACKSLASH) return true;
    return false;
  }

  /** Skips white space. */
  #blank(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    }
    return at;
  }

  /** @param from - offset of the opening quote @returns the offset after the closing quote, or -1 */
  #string(from: number): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    for (let at = from + 1; at < length; at++) {
      const kind = IN_STRING[bytes[at] ?? 0];
      if (kind === 0) continue;
      if (kind === 1) return at + 1;
      if (kind === 3 || ++at >= length) return -1;
      const escaped = bytes[at] ?? 0;
      if (ESCAPED[escaped] === 1) continue;
      if (escaped !== LETTER_U || at + 4 >= length) return -1;
      for (const end = at + 4; at < end; ) if (HEX[bytes[++at] ?? 0] !== 1) return -1;
    }
    return -1;
  }

  #scalar(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    for (; at < bytes.length && at - from < 400; at++) {
      const byte = bytes[at] ?? 0;
      if (byte <= 0x20 || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) break;
    }
    return SCALAR.test(bytes.toString('latin1', from, at)) ? at : -1;
  }
}
