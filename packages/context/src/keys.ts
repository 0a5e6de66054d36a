/**
 * Segments refer to each other by keys: 32-bit hashes of paths, identifiers and call ids. References need no texts. A
 * hash collision only keeps a segment a little longer.
 */

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
/** File names that are ambiguous without their folder. */
const COMMON_NAMES =
  /^(?:index|main|mod|lib|__init__|readme|package|cargo|go|makefile|dockerfile|types?|utils?|test)\b/i;
const MAX_TOKEN = 240;
const MIN_IDENTIFIER = 4;

/** Identifies a conversation of a project in in-memory maps. */
export function conversationKey(project: string, conversationId: string): string {
  return `${conversationId} ${project}`;
}

function hash(kind: string, name: string): number {
  let value = Math.imul(FNV_OFFSET ^ kind.charCodeAt(0), FNV_PRIME);
  for (let i = 0; i < name.length; i++) value = Math.imul(value ^ name.charCodeAt(i), FNV_PRIME);
  return value >>> 0 || 1;
}

/** The key of a call id. */
export function callIdKey(id: string): number {
  return hash('c', id);
}

/** The key of a call's name and arguments, from their hash. */
export function callKey(key: string): number {
  return key === '' ? 0 : hash('k', key);
}

/** The key of a file: its name and parent folder, so that absolute and relative paths agree. */
export function pathKey(path: string): number {
  return hash('p', parts(path).slice(-2).join('/'));
}

/** All keys by which a file may be mentioned: `pathKey`, and the key of its name alone if that is distinctive. */
export function pathKeys(path: string): number[] {
  const all = parts(path);
  const name = all.at(-1) ?? '';
  const full = pathKey(path);
  return all.length < 2 || COMMON_NAMES.test(name) || !name.includes('.') ? [full] : [full, hash('p', name)];
}

function parts(path: string): string[] {
  return path
    .replaceAll('\\', '/')
    .split('/')
    .filter((part) => part !== '' && part !== '.');
}

/** A set of keys with a maximum size. */
export class KeySet {
  readonly #keys = new Set<number>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get full(): boolean {
    return this.#keys.size >= this.#most;
  }

  add(...keys: readonly number[]): void {
    for (const key of keys) if (!this.full) this.#keys.add(key);
  }

  toArray(): Uint32Array {
    return Uint32Array.from(this.#keys);
  }
}

const NONE = 0;
const WORD = 1;
const JOINT = 2;
/** Class of each UTF-16 unit in a token; characters beyond Latin punctuation belong to words. */
const KINDS = new Uint8Array(65536).fill(WORD, 192).fill(WORD, 48, 58).fill(WORD, 65, 91).fill(WORD, 97, 123);
KINDS[95] = WORD;
for (const joint of '-./\\@') KINDS[joint.charCodeAt(0)] = JOINT;

/** Adds keys of the files and identifiers mentioned in a text. */
export function addMentions(text: string, into: KeySet, mostChars: number): void {
  const tokens = new Tokens(text, mostChars);
  while (!into.full && tokens.next()) {
    const token = text.slice(tokens.start, tokens.stop);
    if (!tokens.parted) {
      if (token.length >= MIN_IDENTIFIER) into.add(hash('i', token));
      continue;
    }
    const inFolder = token.includes('/') || token.includes('\\');
    if (inFolder || EXTENSION.test(token)) into.add(...pathKeys(token));
    if (!inFolder) for (const name of identifiersOf(token)) into.add(hash('i', name));
  }
}

/** Keywords before declared identifiers in common languages. */
const DECLARING = new Set(
  'function class interface type struct enum trait impl def fn func fun const let var module namespace object sub proc record union macro'.split(
    ' ',
  ),
);

/** Quick filter by beginning and length, which rejects most words that are not declaring keywords. */
const MAY_DECLARE = new Uint8Array(1024);
const LONGEST_DECLARING = 9;
for (const word of DECLARING) MAY_DECLARE[beginningOf(word.charCodeAt(0), word.length)] = 1;

function beginningOf(first: number, length: number): number {
  return ((first & 63) << 4) | length;
}

/** Adds keys of the identifiers declared in source code. Allocates no strings for other words. */
export function addDeclared(text: string, into: KeySet, mostChars: number): void {
  const tokens = new Tokens(text, mostChars);
  let declaring = false;
  while (!into.full && tokens.next()) {
    const { start, stop } = tokens;
    if (declaring) for (const name of identifiersOf(text.slice(start, stop)).slice(0, 1)) into.add(hash('i', name));
    declaring =
      stop - start <= LONGEST_DECLARING &&
      MAY_DECLARE[beginningOf(text.charCodeAt(start), stop - start)] === 1 &&
      DECLARING.has(text.slice(start, stop));
  }
}

/** Iterates over runs of path and identifier characters. */
class Tokens {
  /** Bounds of the current run. */
  start = 0;
  stop = 0;
  /** Whether the run contains characters that are not part of identifiers. */
  parted = false;
  readonly #text: string;
  readonly #end: number;
  #at = 0;

  constructor(text: string, mostChars: number) {
    this.#text = text;
    this.#end = Math.min(text.length, mostChars);
  }

  /** Advances to the next run; `false` at the end. */
  next(): boolean {
    const text = this.#text;
    const end = this.#end;
    for (let at = this.#at; at < end; ) {
      while (at < end && KINDS[text.charCodeAt(at)] === NONE) at++;
      const start = at;
      let stop = at;
      let parted = false;
      for (; at < end; at++) {
        const kind = KINDS[text.charCodeAt(at)];
        if (kind === NONE) break;
        if (kind === WORD) stop = at + 1;
        else parted = true;
      }
      // a trailing character may end a sentence or name a folder
      if (stop - start < 2 || stop - start > MAX_TOKEN) continue;
      this.#at = at;
      this.start = start;
      this.stop = stop;
      this.parted = parted;
      return true;
    }
    this.#at = end;
    return false;
  }
}

const EXTENSION = /\w\.[A-Za-z][A-Za-z0-9]{0,7}$/;

function identifiersOf(token: string): string[] {
  return token.split(/[-./\\@]+/).filter((name) => name.length >= MIN_IDENTIFIER);
}
