import {
  BEYOND_ASCII,
  CARRIAGE_RETURN,
  isBlankSign,
  isDigit,
  isLetter,
  isWordSign,
  LINE_FEED,
  LOWER_CASE,
} from '../text/chars.ts';
/** Characters accepted at a position of a pattern: by code for ASCII, the last entry for all others. */
export type CharSet = Uint8Array;
const SIZE = BEYOND_ASCII + 1;

/** Syntax tree of a pattern, as far as needed to derive what a match must contain. */
export type Node =
  | {
      readonly type: 'set';
      readonly set: CharSet;
      /** The set's only character, ignoring case, or `''`. */
      readonly char: string;
    }
  | { readonly type: 'start' }
  /** Matches no character: an anchor, a boundary, a look-around. */
  | { readonly type: 'empty' }
  | { readonly type: 'sequence'; readonly items: readonly Node[] }
  | { readonly type: 'choice'; readonly branches: readonly Node[] }
  | { readonly type: 'repeat'; readonly item: Node; readonly least: number; readonly most: number };

/** Represents any digit in a literal. */
export const ANY_DIGIT = '0';
const EMPTY: Node = { type: 'empty' };

function setOf(has: (code: number) => boolean, beyond: boolean): CharSet {
  return Uint8Array.from({ length: SIZE }, (_, code) => Number(code === BEYOND_ASCII ? beyond : has(code)));
}

const CLASSES: Readonly<Record<string, CharSet>> = {
  d: setOf(isDigit, false),
  D: setOf((code) => !isDigit(code), true),
  s: setOf(isBlankSign, true),
  S: setOf((code) => !isBlankSign(code), true),
  w: setOf(isWordSign, false),
  W: setOf((code) => !isWordSign(code), true),
};
const ANY = setOf((code) => code !== LINE_FEED && code !== CARRIAGE_RETURN, true);
const ESCAPED: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', v: '\v', f: '\f', '0': '\0' };

/**
 * Parses the source of a regular expression. Throws on features that no pattern of the engine uses (back references,
 * names).
 */
export function parsePattern({ source, ignoreCase }: RegExp): Node {
  const parser = new PatternParser(source, ignoreCase);
  const node = parser.choice();
  if (!parser.atEnd) throw new SyntaxError(`unexpected character at ${parser.at}: ${source}`);
  return node;
}

class PatternParser {
  readonly #source: string;
  readonly #ignoreCase: boolean;
  at = 0;

  constructor(source: string, ignoreCase: boolean) {
    this.#source = source;
    this.#ignoreCase = ignoreCase;
  }

  get atEnd(): boolean {
    return this.at >= this.#source.length;
  }

  choice(): Node {
    const branches = [this.#sequence()];
    while (this.#take('|')) branches.push(this.#sequence());
    return branches.length === 1 ? (branches[0] ?? EMPTY) : { type: 'choice', branches };
  }

  #take(token: string): boolean {
    if (!this.#source.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  #sequence(): Node {
    const items: Node[] = [];
    while (!this.atEnd && !this.#source.startsWith('|', this.at) && !this.#source.startsWith(')', this.at)) {
      items.push(this.#repeated(this.#atom()));
    }
    return { type: 'sequence', items };
  }

  #repeated(item: Node): Node {
    const [whole, sign, low, comma, high] =
      /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(this.#source.slice(this.at, this.at + 12)) ?? [];
    if (whole === undefined) return item;
    this.at += whole.length;
    if (sign !== undefined)
      return { type: 'repeat', item, least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : Infinity };
    const least = Number(low);
    return { type: 'repeat', item, least, most: comma === '' ? least : high === '' ? Infinity : Number(high) };
  }

  #atom(): Node {
    if (this.#take('^')) return { type: 'start' };
    if (this.#take('$') || this.#take('\\b') || this.#take('\\B')) return EMPTY;
    if (this.#take('(')) return this.#group();
    if (this.#take('[')) return { type: 'set', set: this.#class(), char: '' };
    if (this.#take('.')) return { type: 'set', set: ANY, char: '' };
    const named = this.#source[this.at] === '\\' ? CLASSES[this.#source[this.at + 1] ?? ''] : undefined;
    if (named === undefined) return this.#literal(this.#character());
    const digit = this.#source[this.at + 1] === 'd';
    this.at += 2;
    return { type: 'set', set: named, char: digit ? ANY_DIGIT : '' };
  }

  #group(): Node {
    const around = ['?=', '?!', '?<=', '?<!'].some((kind) => this.#take(kind));
    if (!around) this.#take('?:');
    const inner = this.choice();
    if (!this.#take(')')) throw new SyntaxError(`unclosed group: ${this.#source}`);
    return around ? EMPTY : inner;
  }

  #literal(char: string): Node {
    const set = new Uint8Array(SIZE);
    this.#add(set, char.charCodeAt(0), char.charCodeAt(0));
    return { type: 'set', set, char: isDigit(char.charCodeAt(0)) ? ANY_DIGIT : char.toLowerCase() };
  }

  /** One character, escaped or not. */
  #character(): string {
    const char = this.#source[this.at++] ?? '';
    if (char !== '\\') return char;
    const escaped = this.#source[this.at++] ?? '';
    if (escaped === 'u' || escaped === 'x') {
      const length = escaped === 'u' ? 4 : 2;
      const code = Number.parseInt(this.#source.slice(this.at, this.at + length), 16);
      this.at += length;
      return String.fromCharCode(code);
    }
    if (/[1-9a-zA-Z]/.test(escaped) && ESCAPED[escaped] === undefined) {
      throw new SyntaxError(`unsupported escape \\${escaped}: ${this.#source}`);
    }
    return ESCAPED[escaped] ?? escaped;
  }

  #class(): CharSet {
    const set = new Uint8Array(SIZE);
    const negated = this.#take('^');
    while (!this.#take(']')) {
      const named = this.#source[this.at] === '\\' ? CLASSES[this.#source[this.at + 1] ?? ''] : undefined;
      if (named !== undefined) {
        this.at += 2;
        for (let code = 0; code < SIZE; code++) if (named[code] === 1) set[code] = 1;
        continue;
      }
      const from = this.#character().charCodeAt(0);
      const isRange = this.#source[this.at] === '-' && this.#source[this.at + 1] !== ']';
      if (isRange) this.at++;
      this.#add(set, from, isRange ? this.#character().charCodeAt(0) : from);
    }
    return negated ? set.map((has, code) => (code === BEYOND_ASCII ? 1 : 1 - has)) : set;
  }

  #add(set: CharSet, from: number, to: number): void {
    for (let code = from; code <= to; code++) {
      const at = Math.min(code, BEYOND_ASCII);
      set[at] = 1;
      if (this.#ignoreCase && isLetter(at)) set[at ^ LOWER_CASE] = 1;
    }
  }
}
