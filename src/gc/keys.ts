/**
 * Segments refer to each other by keys: 32-bit hashes of paths, identifiers and call ids. A reference needs no text, and
 * two names that share a hash cost no more than a segment that stays a little longer.
 */

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
/** Names of files that say nothing without their folder. */
const COMMON_NAMES =
  /^(?:index|main|mod|lib|__init__|readme|package|cargo|go|makefile|dockerfile|types?|utils?|test)\b/i;
const MAX_TOKEN = 240;
const MIN_IDENTIFIER = 4;

function hash(kind: string, name: string): number {
  let value = Math.imul(FNV_OFFSET ^ kind.charCodeAt(0), FNV_PRIME);
  for (let i = 0; i < name.length; i++) value = Math.imul(value ^ name.charCodeAt(i), FNV_PRIME);
  return value >>> 0 || 1;
}

/** Stands for a call, by its id. */
export function callIdKey(id: string): number {
  return hash('c', id);
}

/** Stands for what a call did, by a hash of its name and arguments. */
export function callKey(key: string): number {
  return key === '' ? 0 : hash('k', key);
}

/** Stands for a file: its name with the folder it is in, so that absolute and relative paths agree. */
export function pathKey(path: string): number {
  return hash('p', parts(path).slice(-2).join('/'));
}

/** Every key under which a file may be meant: the one above, and its name alone where that says enough. */
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

/** Collects distinct keys up to a number of them. */
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
/** What a unit is to a token; what is beyond Latin punctuation belongs to words. */
const KINDS = new Uint8Array(65536).fill(WORD, 192).fill(WORD, 48, 58).fill(WORD, 65, 91).fill(WORD, 97, 123);
KINDS[95] = WORD;
for (const joint of '-./\\@') KINDS[joint.charCodeAt(0)] = JOINT;

/** Adds what a text names: files and identifiers. */
export function addMentions(text: string, into: KeySet, mostChars: number): void {
  forEachToken(text, mostChars, (token, parted) => {
    if (!parted) {
      if (token.length >= MIN_IDENTIFIER) into.add(hash('i', token));
    } else {
      const inFolder = token.includes('/') || token.includes('\\');
      if (inFolder || EXTENSION.test(token)) into.add(...pathKeys(token));
      if (!inFolder) for (const name of identifiersOf(token)) into.add(hash('i', name));
    }
    return !into.full;
  });
}

/** Words after which an identifier is declared, in the common languages. */
const DECLARING = new Set(
  'function class interface type struct enum trait impl def fn func fun const let var module namespace object sub proc record union macro'.split(
    ' ',
  ),
);

/** Tells most words that declare nothing by how they begin and how long they are. */
const MAY_DECLARE = new Uint8Array(1024);
const LONGEST_DECLARING = 9;
for (const word of DECLARING) MAY_DECLARE[beginningOf(word.charCodeAt(0), word.length)] = 1;

function beginningOf(first: number, length: number): number {
  return ((first & 63) << 4) | length;
}

/** Adds the identifiers that a piece of source code declares. No string is made of a word that has no part in it. */
export function addDeclared(text: string, into: KeySet, mostChars: number): void {
  const end = Math.min(text.length, mostChars);
  let declaring = false;
  for (let at = 0; at < end && !into.full; ) {
    while (at < end && KINDS[text.charCodeAt(at)] === NONE) at++;
    const start = at;
    let stop = at;
    for (; at < end; at++) {
      const kind = KINDS[text.charCodeAt(at)];
      if (kind === NONE) break;
      if (kind === WORD) stop = at + 1;
    }
    const length = stop - start;
    if (length < 2 || length > MAX_TOKEN) continue;
    if (declaring) for (const name of identifiersOf(text.slice(start, stop)).slice(0, 1)) into.add(hash('i', name));
    declaring =
      length <= LONGEST_DECLARING &&
      MAY_DECLARE[beginningOf(text.charCodeAt(start), length)] === 1 &&
      DECLARING.has(text.slice(start, stop));
  }
}

/**
 * Runs of the characters that paths and identifiers consist of.
 *
 * @param take - gets each run, and whether it holds other characters than those of identifiers; `false` ends it
 */
function forEachToken(text: string, mostChars: number, take: (token: string, parted: boolean) => boolean): void {
  const end = Math.min(text.length, mostChars);
  for (let at = 0; at < end; ) {
    let kind = KINDS[text.charCodeAt(at)] ?? NONE;
    if (kind === NONE) {
      at++;
      continue;
    }
    const start = at;
    let stop = at;
    let parted = false;
    for (; at < end && kind !== NONE; kind = KINDS[text.charCodeAt(++at)] ?? NONE) {
      if (kind === WORD) stop = at + 1;
      else parted = true;
    }
    // what follows the last word ends a sentence or names a folder
    if (stop - start > 1 && stop - start <= MAX_TOKEN && !take(text.slice(start, stop), parted)) return;
  }
}

const EXTENSION = /\w\.[A-Za-z][A-Za-z0-9]{0,7}$/;

function identifiersOf(token: string): string[] {
  return token.split(/[-./\\@]+/).filter((name) => name.length >= MIN_IDENTIFIER);
}
