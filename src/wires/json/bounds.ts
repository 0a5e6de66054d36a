import { setImmediate as nextTurn } from 'node:timers/promises';

/** Limits for the structure of a JSON text. */
export interface JsonBounds {
  /** Maximum number of values and keys in total. */
  readonly values: number;
  /** Maximum nesting depth of lists and objects. */
  readonly levels: number;
  /** Maximum number of members of the top-level list or object. */
  readonly items?: number;
}

/** Number of bytes examined between yields to the event loop: a millisecond or two. */
const PIECE_BYTES = 1024 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Counts the structure of a JSON text before it is parsed: `[{},{},…` of 60 MB parses into gigabytes. Allocates
 * nothing, yields to the event loop, and stops at the first exceeded bound. Does not check whether the text is valid
 * JSON.
 *
 * @returns the exceeded bound, or `null`
 */
export async function exceededBound(bytes: Buffer, bounds: JsonBounds): Promise<keyof JsonBounds | null> {
  const meter = new StructureMeter(bounds);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    if (at > 0) await nextTurn();
    const exceeded = meter.add(bytes.subarray(at, at + PIECE_BYTES));
    if (exceeded !== null) return exceeded;
  }
  return null;
}

/** Counts brackets, commas and colons outside strings. */
class StructureMeter {
  readonly #bounds: Required<JsonBounds>;
  #values = 1;
  #level = 0;
  #items = 1;
  #inString = false;
  #isEscaped = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = { items: Number.POSITIVE_INFINITY, ...bounds };
  }

  add(piece: Buffer): keyof JsonBounds | null {
    const { values, levels, items } = this.#bounds;
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at];
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#inString = false;
      } else if (byte === QUOTE) this.#inString = true;
      else if (byte === COMMA || byte === COLON) {
        if (this.#level === 1 && byte === COMMA && ++this.#items > items) return 'items';
        if (++this.#values > values) return 'values';
      } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
        if (++this.#level > levels) return 'levels';
        if (++this.#values > values) return 'values';
      } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) this.#level--;
    }
    return null;
  }
}
