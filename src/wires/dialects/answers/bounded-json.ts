/** JSON up to this size is kept unchanged, in bytes; larger JSON is skimmed. */
const MAX_KEPT_BYTES = 64 * 1024;
/** Maximum length of a string in skimmed JSON, in bytes; longer ones are emptied. */
const MAX_STRING_BYTES = 4 * 1024;
/** Size of skimmed JSON above which only the fields in `WHOLE` are added. */
const NEARLY_FULL_BYTES = 48 * 1024;
const MAX_DEPTH = 64;

/** Fields that are kept completely. */
const WHOLE = new Set(['usage', 'usageMetadata', 'error', 'input_transformations', 'action']);
/** Fields that are kept if all enclosing fields are kept. */
const KEPT = new Set(
  (
    'response message output content choices delta tool_calls function function_call functionCall candidates parts ' +
    'toolUse item start content_block metadata type id name namespace call_id toolUseId status code model text ' +
    'arguments input'
  ).split(' '),
);

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LAST_BLANK = 0x20;

/** Called for each omitted string, with the preceding key and the length in bytes. */
export type OnCut = (key: string, bytes: number) => void;

/** Collects a JSON text that arrives in pieces, in at most 64 KB of memory. A longer text is skimmed. */
export class BoundedJson {
  readonly #onValue: (json: string) => void;
  readonly #onCut: OnCut;
  #pieces: Buffer[] = [];
  #size = 0;
  #skim: SkimmedJson | null = null;

  /**
   * @param onValue - called with a JSON value: its bytes as Latin-1
   */
  constructor(onValue: (json: string) => void, onCut: OnCut) {
    this.#onValue = onValue;
    this.#onCut = onCut;
  }

  data(piece: Buffer): void {
    this.#size += piece.length;
    this.#pieces.push(piece);
    if (this.#size <= MAX_KEPT_BYTES) return;
    this.#skim ??= new SkimmedJson(this.#onValue, this.#onCut);
    for (const waiting of this.#pieces) this.#skim.add(waiting);
    this.#pieces = [];
  }

  end(): void {
    if (this.#pieces.length > 0) this.#onValue(Buffer.concat(this.#pieces).toString('latin1'));
    this.#pieces = [];
  }
}

interface Level {
  readonly isArray: boolean;
  readonly isKept: boolean;
  readonly isWhole: boolean;
  isEmpty: boolean;
}

interface OpenString {
  readonly isKey: boolean;
  readonly isKept: boolean;
  text: string;
  length: number;
}

/**
 * Copies JSON in transit, omitting unknown fields and long strings. The copy is valid JSON. A top-level array is read
 * as a sequence of values, like several concatenated values.
 */
class SkimmedJson {
  readonly #onValue: (json: string) => void;
  readonly #levels: Level[] = [];
  #copy = '';
  #key = '';
  /** Whether the next string in an object is a value, not a key. */
  #isValue = false;
  /** The current string; `null` outside strings. */
  #string: OpenString | null = null;
  #isEscaped = false;
  /** Whether the current number or literal is kept; `null` outside of one. */
  #scalar: boolean | null = null;
  #isBroken = false;
  readonly #onCut: OnCut;

  constructor(onValue: (json: string) => void, onCut: OnCut) {
    this.#onValue = onValue;
    this.#onCut = onCut;
  }

  add(bytes: Buffer): void {
    for (let i = 0; i < bytes.length && !this.#isBroken; i++) {
      if (this.#string) i = this.#inString(this.#string, bytes, i);
      else this.#structure(bytes[i] ?? 0);
    }
  }

  /** @returns the offset of the last byte read */
  #inString(string: OpenString, bytes: Buffer, from: number): number {
    let end = from;
    for (; end < bytes.length; end++) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (bytes[end] === BACKSLASH) this.#isEscaped = true;
      else if (bytes[end] === QUOTE) break;
    }
    string.length += end - from;
    if (string.length <= MAX_STRING_BYTES) string.text += bytes.toString('latin1', from, end);
    else string.text = '';
    if (end < bytes.length) this.#endString(string);
    return end;
  }

  #endString({ isKey, isKept, text, length }: OpenString): void {
    this.#string = null;
    if (isKey) this.#key = text;
    else if (isKept) this.#write(`"${text}"`);
    if (!isKey && (!isKept || text.length < length)) this.#onCut(this.#key, length);
  }

  #structure(byte: number): void {
    const char = String.fromCharCode(byte);
    const isPart = byte > LAST_BLANK && !'{}[],:"'.includes(char);
    if (isPart) {
      if (this.#scalar === null) {
        this.#scalar = this.#keeps();
        if (this.#scalar) this.#write('');
      }
      if (this.#scalar) this.#copy += char;
      return;
    }
    this.#scalar = null;
    if (char === '{' || char === '[') this.#open(char);
    else if (char === '}' || char === ']') this.#close(char);
    else if (char === ',') this.#isValue = false;
    else if (char === ':') this.#isValue = true;
    else if (char === '"') {
      const isKey = this.#levels.at(-1)?.isArray === false && !this.#isValue;
      this.#string = { isKey, isKept: !isKey && this.#keeps(), text: '', length: 0 };
    }
  }

  #open(bracket: '{' | '['): void {
    const outer = this.#levels.at(-1);
    const isArray = bracket === '[';
    if (!outer && isArray) return;
    const isKept = outer ? this.#keeps() : true;
    const isWhole = isKept && (outer?.isWhole === true || (outer?.isArray === false && WHOLE.has(this.#key)));
    if (isKept) this.#write(bracket);
    this.#levels.push({ isArray, isKept, isWhole, isEmpty: true });
    this.#isValue = false;
    this.#isBroken = this.#levels.length > MAX_DEPTH;
  }

  #close(bracket: '}' | ']'): void {
    const level = this.#levels.pop();
    if (level?.isKept) this.#copy += bracket;
    if (!level || this.#levels.length > 0) return;
    this.#onValue(this.#copy);
    this.#copy = '';
  }

  /** Whether to copy the value that begins here. */
  #keeps(): boolean {
    const level = this.#levels.at(-1);
    if (!level?.isKept || this.#copy.length > MAX_KEPT_BYTES) return false;
    if (level.isWhole || (!level.isArray && WHOLE.has(this.#key))) return true;
    return this.#copy.length <= NEARLY_FULL_BYTES && (level.isArray || KEPT.has(this.#key));
  }

  #write(text: string): void {
    const level = this.#levels.at(-1);
    if (level) {
      this.#copy += `${level.isEmpty ? '' : ','}${level.isArray ? '' : `"${this.#key}":`}`;
      level.isEmpty = false;
    }
    this.#copy += text;
  }
}
