import { eachTerm, foreignWords, MAX_RUN } from './terms.ts';

/**
 * A Bloom filter of the terms of a text (Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970): it
 * has every term of the text, and 0.2 % of all others. About 6 % of the text's size.
 */
export type TermFilter = Uint8Array;

const BITS_PER_TERM = 14;
const HASHES = 6;
/** Texts with more distinct terms get no filter: they are larger than 100 KB. */
const MOST_TERMS = 16_384;

/** Hash table of the distinct terms of the current text; 0 is a free place. */
const table = new Int32Array(2 * MOST_TERMS);
/** The terms in the table with their places, and those of the current run of letters. */
const terms = new Int32Array(MOST_TERMS);
const places = new Int32Array(MOST_TERMS);
const run = new Int32Array(MAX_RUN);
let count = 0;
/** Selects the part of the table that is used for a text; a small one stays in the processor's cache. */
let mask = 0;

/** The filter of a text, or `null` if the text has too many terms. */
export function filterOf(text: string): TermFilter | null {
  count = 0;
  mask = Math.min(table.length, 2 ** Math.ceil(Math.log2(text.length + 64))) - 1;
  takeAsciiTerms(text);
  for (const word of foreignWords(text)) eachTerm(word, (term) => take(termHash(term)));
  const isFull = count === mostTerms();
  const filter = new Uint8Array(isFull ? 0 : Math.ceil((count * BITS_PER_TERM) / 8));
  for (let i = 0; i < count; i++) {
    table[places[i] ?? 0] = 0;
    if (!isFull) add(filter, terms[i] ?? 0);
  }
  return isFull ? null : filter;
}

/** Most terms that the used part of the table takes, so that a place is found soon. */
function mostTerms(): number {
  return (mask + 1) >> 1;
}

/** Adds a hash to the terms of the current text, once. */
function take(hash: number): void {
  if (count === mostTerms()) return;
  let place = hash & mask;
  for (let there = table[place]; there !== 0; there = table[place]) {
    if (there === hash) return;
    place = (place + 1) & mask;
  }
  table[place] = hash;
  places[count] = place;
  terms[count++] = hash;
}

function add(filter: TermFilter, hash: number): void {
  const bits = filter.length * 8;
  const step = stepOf(hash, bits);
  for (let i = 0, at = (hash >>> 0) % bits; i < HASHES; i++, at = at + step < bits ? at + step : at + step - bits)
    filter[at >>> 3] = (filter[at >>> 3] ?? 0) | (1 << (at & 7));
}

/** Whether a text may have a term, given by its hash. */
export function mayHave(filter: TermFilter, hash: number): boolean {
  const bits = filter.length * 8;
  if (bits === 0) return false;
  const step = stepOf(hash, bits);
  for (let i = 0, at = (hash >>> 0) % bits; i < HASHES; i++, at = at + step < bits ? at + step : at + step - bits)
    if (((filter[at >>> 3] ?? 0) & (1 << (at & 7))) === 0) return false;
  return true;
}

function stepOf(hash: number, bits: number): number {
  return 1 + ((Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0) % (bits - 1));
}

const BASIS = 0x811c9dc5 | 0;
const PRIME = 0x01000193;

/** FNV-1a over the UTF-16 units; never 0. */
export function termHash(term: string): number {
  let hash = BASIS;
  for (let i = 0; i < term.length; i++) hash = Math.imul(hash ^ term.charCodeAt(i), PRIME);
  return mixed(hash);
}

function mixed(hash: number): number {
  const mix = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (mix ^ (mix >>> 13)) | 0 || 1;
}

const [LOWER, UPPER, DIGIT, UNDERSCORE] = [1, 2, 3, 4];
const KINDS = new Uint8Array(128);
for (let code = 0; code < 128; code++) {
  const sign = String.fromCharCode(code);
  KINDS[code] = /[a-z]/.test(sign)
    ? LOWER
    : /[A-Z]/.test(sign)
      ? UPPER
      : /\d/.test(sign)
        ? DIGIT
        : sign === '_'
          ? UNDERSCORE
          : 0;
}

/** Takes the terms of `eachTerm` in one pass. Parts of words with letters beyond ASCII are terms here too. */
function takeAsciiTerms(text: string): void {
  let [whole, part] = [BASIS, BASIS];
  let [wholeChars, partChars, chars, parts] = [0, 0, 0, 0];
  let before = 0;
  const { length } = text;
  for (let i = 0; i <= length; i++) {
    const code = i < length ? text.charCodeAt(i) : 0;
    const kind = code < 128 ? (KINDS[code] ?? 0) : 0;
    if (partChars > 0 && (kind === 0 || kind === UNDERSCORE || (kind === UPPER && isStart(text, i, before)))) {
      if (partChars > 1 && parts < MAX_RUN) run[parts++] = mixed(part);
      part = BASIS;
      partChars = 0;
    }
    before = kind;
    if (kind === 0) {
      if (chars === 0) continue;
      if (chars <= MAX_RUN) {
        for (let k = 0; k < parts; k++) take(run[k] ?? 0);
        if (wholeChars > 1) take(mixed(whole));
      }
      whole = BASIS;
      wholeChars = chars = parts = 0;
      continue;
    }
    chars++;
    if (kind === UNDERSCORE) continue;
    const lower = kind === UPPER ? code | 32 : code;
    whole = Math.imul(whole ^ lower, PRIME);
    part = Math.imul(part ^ lower, PRIME);
    wholeChars++;
    partChars++;
  }
}

/** Whether an upper-case letter begins a part of a word. */
function isStart(text: string, at: number, before: number): boolean {
  return before !== UPPER || (at + 1 < text.length && KINDS[text.charCodeAt(at + 1)] === LOWER);
}
