import { isCapital, LOWER_CASE } from '../text/chars.ts';
import { mixed } from '../text/mix.ts';
import { codesOf } from '../text/view.ts';

/**
 * Words of a text as numbers, so that scanning allocates nothing: an identifier yields one hash for itself and, if it
 * has parts (`maxWait`, `max_wait`), one per part. Lower-cased and lightly stemmed.
 */

const NONE = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const JOINER = 4;
const WIDE = 5;

const CLASSES = new Uint8Array(65536)
  .fill(LOWER, 97, 123)
  .fill(UPPER, 65, 91)
  .fill(DIGIT, 48, 58)
  .fill(JOINER, 95, 96)
  .fill(LOWER, 0xc0, 0x2000)
  .fill(WIDE, 0x3040, 0xd7b0)
  .fill(LOWER, 0xd7b0, 0xd800)
  .fill(LOWER, 0xf900);

/** Longest word, in characters. Longer ones are hashes and encoded data. Set by hand. */
const LONGEST = 80;

/** Whether a part of an identifier begins here; indexed by eight times the previous class plus the current one. */
const OPENS = new Uint8Array(64);
const NEVER = 0;
const ALWAYS = 1;
/** In a run of capitals, only the last one before a lower-case letter begins a part (`HTTPServer`). */
const BEFORE_LOWER = 2;
for (const kind of [LOWER, UPPER, DIGIT]) OPENS[JOINER * 8 + kind] = ALWAYS;
OPENS[LOWER * 8 + UPPER] = ALWAYS;
OPENS[DIGIT * 8 + UPPER] = ALWAYS;
OPENS[UPPER * 8 + UPPER] = BEFORE_LOWER;

/** Found words in order: hash, offsets, and position among all words of the text. */
export class WordList {
  hash: Int32Array;
  start: Uint32Array;
  end: Uint32Array;
  /** Number of preceding words, including unwanted ones. */
  ordinal: Uint32Array;
  /** 1 if the word is a part of the last preceding word with 0, an identifier. */
  part: Uint8Array;
  size = 0;
  /** Number of words so far, including unwanted ones. */
  seen = 0;

  constructor(room: number) {
    this.hash = new Int32Array(room);
    this.start = new Uint32Array(room);
    this.end = new Uint32Array(room);
    this.ordinal = new Uint32Array(room);
    this.part = new Uint8Array(room);
  }

  add(hash: number, start: number, end: number, part: number): void {
    const at = this.size++;
    if (at === this.hash.length) this.#grow();
    this.hash[at] = hash;
    this.start[at] = start;
    this.end[at] = end;
    this.ordinal[at] = this.seen;
    this.part[at] = part;
  }

  #grow(): void {
    const { hash, start, end, ordinal, part } = this;
    const room = Math.max(64, hash.length * 2);
    this.hash = new Int32Array(room);
    this.start = new Uint32Array(room);
    this.end = new Uint32Array(room);
    this.ordinal = new Uint32Array(room);
    this.part = new Uint8Array(room);
    this.hash.set(hash);
    this.start.set(start);
    this.end.set(end);
    this.ordinal.set(ordinal);
    this.part.set(part);
  }
}

/**
 * Which words are wanted, by their first two characters: 1 for each wanted `beginning`. Other words are only counted.
 */
export type Wanted = Uint8Array;

/** Mask for the lowest five bits, which identify an ASCII letter regardless of case. */
const LETTER_BITS = 5;
const LETTER = (1 << LETTER_BITS) - 1;
const BEGINNINGS = 1 << (2 * LETTER_BITS);
export const ALL_WORDS: Wanted = new Uint8Array(BEGINNINGS).fill(1);

/** Key of a word's first two UTF-16 units, ignoring case (some other units collide). */
function beginning(first: number, second: number): number {
  return ((first & LETTER) << LETTER_BITS) | (second & LETTER);
}

/** Marks all words as wanted that share the first two characters with one of these. */
export function wantedLike(words: Iterable<string>): Wanted {
  const wanted = new Uint8Array(BEGINNINGS);
  for (const word of words) wanted[beginning(word.charCodeAt(0), word.charCodeAt(1))] = 1;
  return wanted;
}

/** Adds the wanted words in `[start, end)` of a text's UTF-16 units to a list, in order. */
export function listWords(codes: Uint16Array, start: number, end: number, list: WordList, wanted: Wanted): void {
  let at = start;
  while (at < end) {
    let kind = CLASSES[codes[at] ?? 0] ?? NONE;
    if (kind === NONE || kind === JOINER) {
      at++;
      continue;
    }
    const word = at;
    if (kind === WIDE) {
      at++;
      list.add(hashOf(codes, word, at), word, at, 0);
      list.seen++;
      continue;
    }
    let parts = 0;
    let seen = 0;
    let previous = NONE;
    do {
      const opens = OPENS[previous * 8 + kind];
      if (opens === ALWAYS) parts++;
      else if (opens === BEFORE_LOWER && at + 1 < end && CLASSES[codes[at + 1] ?? 0] === LOWER) parts++;
      seen |= 1 << kind;
      previous = kind;
      at++;
      // most characters of a word have the same class, within which no part begins
      if (kind !== UPPER) while (at < end && CLASSES[codes[at] ?? 0] === kind) at++;
      if (at === end) break;
      kind = CLASSES[codes[at] ?? 0] ?? NONE;
    } while (kind !== NONE && kind !== WIDE);
    const length = at - word;
    const lettered = (seen & ((1 << LOWER) | (1 << UPPER))) !== 0;
    if (length < (lettered ? 2 : 3) || length > LONGEST) continue;
    addWord(codes, word, at, 0, list, wanted);
    if (parts > 0) listParts(codes, word, at, list, wanted);
  }
}

function listParts(codes: Uint16Array, start: number, end: number, list: WordList, wanted: Wanted): void {
  let part = start;
  let previous = JOINER;
  for (let at = start; at <= end; at++) {
    const kind = at < end ? (CLASSES[codes[at] ?? 0] ?? NONE) : JOINER;
    const opens = kind === JOINER ? ALWAYS : (OPENS[previous * 8 + kind] ?? NEVER);
    previous = kind;
    if (opens === NEVER) continue;
    if (opens === BEFORE_LOWER && (at + 1 >= end || CLASSES[codes[at + 1] ?? 0] !== LOWER)) continue;
    if (at - part > 2) addWord(codes, part, at, 1, list, wanted);
    part = kind === JOINER ? at + 1 : at;
  }
}

function addWord(codes: Uint16Array, start: number, end: number, part: number, list: WordList, wanted: Wanted): void {
  if (wanted[beginning(codes[start] ?? 0, codes[start + 1] ?? 0)] === 1) {
    list.add(hashOf(codes, start, stemEnd(codes, start, end)), start, end, part);
  }
  list.seen++;
}

/** Receives a word: hash, offsets, and whether it is part of a previously reported identifier. */
type WordSink = (hash: number, start: number, end: number, isPart: boolean) => void;

/** Reports every word in `[start, end)` of a text, in order. */
export function scanWords(text: string, start: number, end: number, sink: WordSink): void {
  const list = new WordList((end - start) >> 2);
  listWords(codesOf(text), start, end, list, ALL_WORDS);
  for (let k = 0; k < list.size; k++) sink(list.hash[k] ?? 0, list.start[k] ?? 0, list.end[k] ?? 0, list.part[k] === 1);
}

/** Suffixes removed by stemming, by last letter, longest first. */
const SUFFIXES = new Map(
  Object.entries({
    s: ['ations', 'ings', 'ers', 'ies', 'es', 's'],
    g: ['ing'],
    n: ['ation'],
    y: ['edly', 'ly'],
    d: ['ed'],
    r: ['er'],
  }).map(([last, suffixes]): [number, readonly Uint16Array[]] => [last.charCodeAt(0), suffixes.map(codesOf)]),
);
/** 1 for each code that is the last letter of a suffix. */
const ENDS_SUFFIX = new Uint8Array(65536);
for (const last of SUFFIXES.keys()) ENDS_SUFFIX[last] = 1;
/** Minimum length of a stem, in characters. Set by hand. */
const LEAST_STEM = 4;
/** The code of `e`. */
const E = 101;

/** Where the stem of the word in `[start, end)` ends; at least four characters stay. */
function stemEnd(codes: Uint16Array, start: number, end: number): number {
  if (end - start <= LEAST_STEM) return end;
  const last = (codes[end - 1] ?? 0) | LOWER_CASE;
  let stem = end;
  if (ENDS_SUFFIX[last] === 1) stem -= suffixLength(codes, start, end, last);
  if (stem - start > LEAST_STEM && ((codes[stem - 1] ?? 0) | LOWER_CASE) === E) stem--; // cache, caching
  return stem;
}

function suffixLength(codes: Uint16Array, start: number, end: number, last: number): number {
  for (const suffix of SUFFIXES.get(last) ?? []) {
    const { length } = suffix;
    if (end - start - length < LEAST_STEM) continue;
    let i = 0;
    while (i < length && ((codes[end - length + i] ?? 0) | LOWER_CASE) === suffix[i]) i++;
    if (i === length) return length;
  }
  return 0;
}

/** FNV-1a's offset basis and prime of 32 bits (Fowler, Noll, Vo). */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** FNV-1a of a word's UTF-16 units, regardless of ASCII case. */
function hashOf(codes: Uint16Array, start: number, end: number): number {
  let hash = FNV_OFFSET;
  for (let i = start; i < end; i++) {
    const code = codes[i] ?? 0;
    hash = Math.imul(hash ^ (isCapital(code) ? code | LOWER_CASE : code), FNV_PRIME);
  }
  return mixed(hash);
}

const scratch = new Uint16Array(LONGEST);

/** Hash of a single word, identical to the one from `scanWords` (stemmed, lower case). */
export function wordHash(word: string): number {
  const { length } = word;
  const codes = length <= LONGEST ? scratch : codesOf(word);
  if (length <= LONGEST) for (let i = 0; i < length; i++) codes[i] = word.charCodeAt(i);
  return hashOf(codes, 0, stemEnd(codes, 0, length));
}
