/**
 * Words of a text as numbers, so that scanning allocates nothing: an identifier gives one hash for itself and, when it
 * has parts (`maxWait`, `max_wait`), one for each part. Lower case, lightly stemmed.
 */

const NONE = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const JOINER = 4;
const WIDE = 5;

const CLASSES = new Uint8Array(128);
for (let c = 97; c < 123; c++) CLASSES[c] = LOWER;
for (let c = 65; c < 91; c++) CLASSES[c] = UPPER;
for (let c = 48; c < 58; c++) CLASSES[c] = DIGIT;
CLASSES[95] = JOINER;

function classOf(code: number): number {
  if (code < 128) return CLASSES[code] ?? NONE;
  if (code < 0xc0) return NONE;
  if (code >= 0x2e80 && code < 0xd7b0) return code < 0x3040 ? NONE : WIDE;
  if (code >= 0x2000 && code < 0x2e80) return NONE;
  return code >= 0xd800 && code < 0xf900 ? NONE : LOWER;
}

/** Takes one word: its hash, where it stands, and whether it is a part of an identifier already given. */
export type WordSink = (hash: number, start: number, end: number, isPart: boolean) => void;

/** Reports every word in `[start, end)` of a text, in order. */
export function scanWords(text: string, start: number, end: number, sink: WordSink): void {
  let at = start;
  while (at < end) {
    let kind = classOf(text.charCodeAt(at));
    if (kind === NONE || kind === JOINER) {
      at++;
      continue;
    }
    if (kind === WIDE) {
      sink(hashOf(text, at, at + 1), at, at + 1, false);
      at++;
      continue;
    }
    const word = at;
    let parts = 1;
    let letters = 0;
    let previous = kind;
    for (; at < end; at++) {
      kind = classOf(text.charCodeAt(at));
      if (kind === NONE || kind === WIDE) break;
      if (kind === LOWER || kind === UPPER) letters++;
      if (at > word && opensPart(text, at, end, previous, kind)) parts++;
      previous = kind;
    }
    const length = at - word;
    if (letters === 0 ? length < 3 : length < 2) continue;
    if (length > 80) continue; // hashes and encoded data are no words
    sink(hashOf(text, word, stemEnd(text, word, at)), word, at, false);
    if (parts > 1) scanParts(text, word, at, sink);
  }
}

function opensPart(text: string, at: number, end: number, previous: number, kind: number): boolean {
  if (kind === JOINER) return false;
  if (previous === JOINER) return true;
  if (kind === UPPER) {
    if (previous === LOWER || previous === DIGIT) return true;
    return previous === UPPER && at + 1 < end && classOf(text.charCodeAt(at + 1)) === LOWER;
  }
  return false;
}

function scanParts(text: string, start: number, end: number, sink: WordSink): void {
  let part = start;
  let previous = JOINER;
  for (let at = start; at <= end; at++) {
    const kind = at < end ? classOf(text.charCodeAt(at)) : JOINER;
    if (at === end || kind === JOINER || opensPart(text, at, end, previous, kind)) {
      if (at - part > 2) sink(hashOf(text, part, stemEnd(text, part, at)), part, at, true);
      part = kind === JOINER ? at + 1 : at;
    }
    previous = kind;
  }
}

const SUFFIXES = ['ations', 'ation', 'ings', 'ing', 'edly', 'ers', 'ies', 'ed', 'es', 'er', 'ly', 's'];

/** Where the stem of the word in `[start, end)` ends; at least four characters stay. */
function stemEnd(text: string, start: number, end: number): number {
  if (end - start < 5) return end;
  const last = text.charCodeAt(end - 1) | 32;
  let stem = end;
  // s, g, y, d, r, n end the suffixes above
  if (last === 115 || last === 103 || last === 121 || last === 100 || last === 114 || last === 110) {
    for (const suffix of SUFFIXES) {
      if (end - start - suffix.length < 4 || !endsWith(text, end, suffix)) continue;
      stem = end - suffix.length;
      break;
    }
  }
  if (stem - start > 4 && (text.charCodeAt(stem - 1) | 32) === 101) stem--; // cache, caching
  return stem;
}

function endsWith(text: string, end: number, suffix: string): boolean {
  for (let i = 1; i <= suffix.length; i++) {
    if ((text.charCodeAt(end - i) | 32) !== suffix.charCodeAt(suffix.length - i)) return false;
  }
  return true;
}

function hashOf(text: string, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    hash = Math.imul(hash ^ (code >= 65 && code <= 90 ? code | 32 : code), 0x01000193);
  }
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return hash === 0 ? 1 : hash; // 0 marks an empty slot in tables
}

/** Hash of one word as `scanWords` would give it (stemmed, lower case). */
export function wordHash(word: string): number {
  return hashOf(word, 0, stemEnd(word, 0, word.length));
}
