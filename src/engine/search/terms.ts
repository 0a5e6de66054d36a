/** Maximum length of a run of letters and digits that is read as a word; longer ones are encoded data. */
const MAX_RUN = 64;
/** Maximum length of a term; longer ones are truncated, because later characters rarely distinguish two words. */
const MAX_TERM = 24;
/**
 * Maximum length of a term with a digit, such as an id, hash or time; longer ones are truncated. The beginning suffices
 * to find them, and whole ones would bloat the index.
 */
const MAX_DIGITS = 10;

/** Matches letters and digits, including underscores in identifiers. */
const RUN = /[\p{L}\p{N}\p{M}_]+/gu;
const ASCII_RUN = /\w+/g;
const IDEOGRAPHIC = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const MARKS = /\p{M}/gu;
const UNDERSCORE = 95;

/** Receives a term and the offset of the word that contains it, in UTF-16 units. */
export type TakeTerm = (term: string, offset: number) => void;

/**
 * Calls `take` for each term of a text, in order: words in lower case, the parts of identifiers (`get`, `user` of
 * `getUser` and `get_user`), and identifiers as a whole without their separators (`getuser`). Terms repeat.
 */
export function eachTerm(text: string, take: TakeTerm): void {
  for (const { 0: run, index } of text.matchAll(RUN)) termsOfRun(run, index, take);
}

/**
 * Normalises a text so that each of its terms occurs in it literally (but also other parts of words). Ten times as fast
 * as splitting the text into terms.
 */
export function folded(text: string): string {
  if (isAscii(text)) return text.toLowerCase().replaceAll('_', '');
  const plain = text.normalize('NFKD').replace(MARKS, '').normalize('NFC');
  return plain.toLowerCase().replaceAll('_', '').replaceAll('ς', 'σ'); // the sigma depends on its context
}

/** The distinct terms of a text, in the order of their first occurrence. */
export function termsOf(text: string): string[] {
  const terms = new Set<string>();
  // repeated runs add nothing; on ASCII text, the simpler expression matches the same runs
  const runs = new Set(text.match(isAscii(text) ? ASCII_RUN : RUN));
  const take = (term: string): unknown => terms.add(term);
  for (const run of runs) termsOfRun(run, 0, take);
  return [...terms];
}

function termsOfRun(run: string, offset: number, take: TakeTerm): void {
  if (run.length > MAX_RUN) return;
  if (isAscii(run)) eachPart(run, offset, take);
  else eachForeign(run, offset, take);
}

function eachPart(run: string, offset: number, take: TakeTerm): void {
  let start = 0;
  let parts = 0;
  for (let i = 1; i <= run.length; i++) {
    if (i < run.length && !isBoundary(run, i)) continue;
    const from = run.charCodeAt(start) === UNDERSCORE ? start + 1 : start;
    if (i > from) {
      parts++;
      if (from > 0 || i < run.length) takeTerm(run.slice(from, i), offset, take);
    }
    start = i;
  }
  if (parts > 0) takeTerm(run.replaceAll('_', ''), offset, take);
}

/** Whether a new part begins here: `aB`, `1A`, `HTTPServer` before the `S`, or an underscore. */
function isBoundary(run: string, i: number): boolean {
  const here = run.charCodeAt(i);
  if (here === UNDERSCORE) return true;
  if (!isUpper(here)) return false;
  return !isUpper(run.charCodeAt(i - 1)) || isLower(run.charCodeAt(i + 1));
}

function isUpper(code: number): boolean {
  return code >= 65 && code <= 90;
}

function isLower(code: number): boolean {
  return code >= 97 && code <= 122;
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false;
  return true;
}

function takeTerm(part: string, offset: number, take: TakeTerm): void {
  if (part.length < 2) return;
  const term = part.toLowerCase();
  take(term.slice(0, hasDigit(term) ? MAX_DIGITS : MAX_TERM), offset);
}

function hasDigit(term: string): boolean {
  for (let i = 0; i < term.length; i++) if (term.charCodeAt(i) < 58) return true;
  return false;
}

/** Removes accents. In scripts without spaces, every two consecutive characters are a term. */
function eachForeign(run: string, offset: number, take: TakeTerm): void {
  const plain = run.normalize('NFKD').replace(MARKS, '').normalize('NFC');
  if (isAscii(plain)) {
    eachPart(plain, offset, take);
    return;
  }
  const word = plain.toLowerCase().replaceAll('_', '');
  if (!IDEOGRAPHIC.test(word)) {
    if (word.length > 1) take(word.slice(0, MAX_TERM), offset);
    return;
  }
  const signs = [...word];
  if (signs.length === 1) take(word, offset);
  for (let i = 0; i + 1 < signs.length; i++) take(`${signs[i]}${signs[i + 1]}`, offset);
}

/** Identifiers and paths: words joined by the separators of code. */
const NAME = /[A-Za-z_$][\w$]*(?:[./:\\-]+[\w$]+)*/g;
/** An identifier of several words, or a path. */
const JOINED = /[a-z][A-Z]|[A-Z]{2}[a-z]|[\w$][_./:\\-][\w$]/;
const MIN_NAME = 5;
const MAX_NAME = 80;
const MAX_NAMES = 4_000;
/** Minimum length of a searchable part of a name. */
export const FRAGMENT = 3;

/**
 * Names in a text that can be found by any substring: identifiers of several words and paths, in lower case, without
 * underscores, deduplicated, separated by spaces.
 */
export function namesIn(text: string): string {
  const names = new Set<string>();
  for (const name of text.match(NAME) ?? []) {
    if (name.length < MIN_NAME || !JOINED.test(name)) continue;
    names.add(indexForm(name).slice(0, MAX_NAME));
    if (names.size >= MAX_NAMES) break;
  }
  return [...names].join(' ');
}

/** Whether a word of a query is spelled like an identifier of several words, or like a path. */
export function isJoined(word: string): boolean {
  return JOINED.test(word);
}

/** Normalised form of a name in the index. */
export function indexForm(name: string): string {
  return name.toLowerCase().replaceAll('_', '');
}

/** The distinct trigrams of a name. */
export function fragmentsOf(name: string): string[] {
  const pieces = new Set<string>();
  for (let i = 0; i + FRAGMENT <= name.length; i++) pieces.add(name.slice(i, i + FRAGMENT));
  return [...pieces];
}
