/** Maximum length of a run of letters and digits that is read as a word; longer ones are encoded data. */
export const MAX_RUN = 64;
/** Matches letters and digits, including underscores in identifiers. */
const RUN = /[\p{L}\p{N}\p{M}_]+/gu;
const ASCII_RUN = /\w+/g;
const IDEOGRAPHIC = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const MARKS = /\p{M}/gu;
const UNDERSCORE = 95;

/** Receives a term and the offset of the word that contains it, in UTF-16 units. */
type TakeTerm = (term: string, offset: number) => void;

/**
 * Calls `take` for each term of a text, in order: words in lower case, the parts of identifiers (`get`, `user` of
 * `getUser` and `get_user`), and identifiers as a whole without their separators (`getuser`). Terms repeat.
 */
export function eachTerm(text: string, take: TakeTerm): void {
  for (const { 0: run, index } of text.matchAll(RUN)) termsOfRun(run, index, take);
}

/**
 * Whether an ASCII term that stands at an offset of a text, in any case, is one of the text's terms, and not only a part
 * of a longer one.
 */
export function isTermAt(text: string, at: number, term: string): boolean {
  const end = at + term.length;
  if (!isWordSign(text, at - 1) && !isWordSign(text, end)) return true;
  if (!isStart(text, at) || !isStart(text, end)) return false;
  let from = at;
  let to = end;
  while (end - from <= MAX_RUN && isWordSign(text, from - 1)) from--;
  while (to - from <= MAX_RUN && isWordSign(text, to)) to++;
  return to - from <= MAX_RUN;
}

/** Whether a part of an identifier or a word begins, or the one before ends, at an offset. */
function isStart(text: string, at: number): boolean {
  const isInside = isWordSign(text, at - 1) && isWordSign(text, at);
  return !isInside || text.charCodeAt(at - 1) === UNDERSCORE || isBoundary(text, at);
}

/** Words of a text with letters beyond ASCII, whose terms are not spelled as in the text. */
export function foreignWords(text: string): string[] {
  const words: string[] = [];
  if (!BEYOND_ASCII.test(text)) return words; // four times as fast as the search for letters
  const letters = new RegExp(FOREIGN);
  for (let end = 0; ; ) {
    letters.lastIndex = end;
    const found = letters.exec(text);
    if (found === null) return words;
    let start = found.index;
    while (start > end && isWordSign(text, start - 1)) start--;
    end = found.index + found[0].length;
    while (isWordSign(text, end)) end++;
    words.push(text.slice(start, end));
  }
}

const BEYOND_ASCII = /[^\0-\x7f]/;
/** Letters, digits and marks beyond ASCII. */
const FOREIGN = /(?![\0-\x7f])[\p{L}\p{N}\p{M}]+/gu;

function isWordSign(text: string, at: number): boolean {
  const code = text.charCodeAt(at); // NaN outside the text
  if (code > 127) {
    const isSecondHalf = code >= 0xdc00 && code < 0xe000 && at > 0;
    return FOREIGN_SIGN.test(text.slice(isSecondHalf ? at - 1 : at, at + 2));
  }
  return isUpper(code) || isLower(code) || code === UNDERSCORE || (code >= 48 && code <= 57);
}

const FOREIGN_SIGN = /^[\p{L}\p{N}\p{M}]/u;

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

export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false;
  return true;
}

function takeTerm(part: string, offset: number, take: TakeTerm): void {
  if (part.length < 2) return;
  take(part.toLowerCase(), offset);
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
    if (word.length > 1) take(word, offset);
    return;
  }
  const signs = [...word];
  if (signs.length === 1) take(word, offset);
  for (let i = 0; i + 1 < signs.length; i++) take(`${signs[i]}${signs[i + 1]}`, offset);
}

/** An identifier of several words, or a path. */
const JOINED = /[a-z][A-Z]|[A-Z]{2}[a-z]|[\w$][_./:\\-][\w$]/;
/** A term is looked for within longer words only if it has more characters. */
export const FRAGMENT = 3;

/** Whether a word of a query is spelled like an identifier of several words, or like a path. */
export function isJoined(word: string): boolean {
  return JOINED.test(word);
}
