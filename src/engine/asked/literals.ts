import { isDigit, isWordSign } from '../text/chars.ts';
import type { View } from '../text/view.ts';

/** A string that the goal spells out and that a line must hold as it is: an id, number, path, error code or quotation. */
export interface Literal {
  readonly text: string;
  /** The word before a number (`task 79`); `''` if there is none. Lines that hold both come first. */
  readonly noun: string;
  readonly isNumber: boolean;
  /** Whether the text holds it as part of a longer hash (`7f3a9c1` for `7f3a9c1d2e…`). */
  readonly isHash: boolean;
}

/** Maximum number of literals per goal, and of characters per literal. Set by hand, like all below. */
const MOST_LITERALS = 40;
const MAX_CHARS = 200;
/** Quoted text in the usual quotation marks; an apostrophe within a word is none. */
const QUOTED =
  /"([^"\n]{2,200})"|`([^`\n]{2,200})`|(?<![\p{L}\d])'([^'\n]{2,200})'(?![\p{L}\d])|«\s?([^»\n]{2,200}?)\s?»|[“„]([^”“\n]{2,200})[”“]/gu;
/** Signs around a word that do not belong to it. */
const LEADING = /^[\s.,;:!?()[\]{}<>"'`«»“”„*|#=]+/;
const TRAILING = /[\s.,;:!?()[\]{}<>"'`«»“”*|=]+$/;
const NUMBER = /^[-+]?\d[\d,._]*$/;
/** A clock, a date or a duration is no literal: times and comparisons are read elsewhere. */
const TIME = /^\d{1,2}(?:[:h]\d{2}){1,2}(?:[.,]\d+)?(?:[ap]m|z)?$|^\d{1,2}(?:[ap]m|h)$|^\d{4}-\d{2}-\d{2}(?:t.*)?$/i;
const AMOUNT = /^\d[\d.,]*(?:[kmgt]i?b?|b|[nµum]?s|sec|mins?|h|d|%|st|nd|rd|th|x)$/i;
const HASH = /^[\da-f]{7,40}$/i;
/** Words that a number counts (`5 minutes`, `10 lines`) or that ask for a number of rows (`top 10`). */
const COUNTED =
  /^(?:seconds?|secs?|minutes?|mins?|hours?|days?|weeks?|months?|years?|times|lines?|rows?|entries|results?|files|items|tests|characters|chars|bytes|[kmg]i?b|ms|s|%|percent|of|largest|biggest|slowest|most|heures?|jours?|stunden|tage|zeilen|minuten)$/i;
const COUNTS =
  /^(?:top|first|last|over|above|under|below|than|least|most|exceeds?|exceeded|exceeding|all|about|around|approximately|>|<|>=|<=)$/i;

/** Words before a line number. Programs print the number alone, whatever follows in the question (`line 51 of a.ts`). */
const PLACE = /^(?:lines?|lignes?|zeilen?)$/i;

/** The literals of a goal, longest first. */
export function literalsOf(goal: string): Literal[] {
  const found = new Map<string, Literal>();
  const add = (text: string, noun = ''): void => {
    if (text.length < 2 && !isDigit(text.charCodeAt(0))) return;
    if (text.length > MAX_CHARS || found.size >= MOST_LITERALS || found.has(text)) return;
    found.set(text, { text, noun, isNumber: NUMBER.test(text), isHash: HASH.test(text) && /\d/.test(text) });
  };
  for (const [, ...parts] of goal.matchAll(QUOTED)) {
    const text = parts.find((part) => part !== undefined)?.trim() ?? '';
    if (!AMOUNT.test(text) && !TIME.test(text)) add(text);
  }
  const words = goal.split(/\s+/);
  for (const [k, raw] of words.entries()) {
    if (raw.length > MAX_CHARS) continue;
    const word = raw.replace(LEADING, '').replace(TRAILING, '');
    if (!isLiteral(word)) continue;
    const before = (words[k - 1] ?? '').replace(LEADING, '').replace(TRAILING, '');
    if (PLACE.test(before)) add(word);
    else if (NUMBER.test(word)) {
      const behind = /[.,;:!?)]$/.test(raw) ? '' : (words[k + 1] ?? '').replace(TRAILING, '');
      if (COUNTED.test(behind) || COUNTS.test(before)) continue;
    }
    add(word, /^\p{L}{3,30}$/u.test(before) ? before : '');
  }
  return [...found.values()].sort((a, b) => b.text.length - a.text.length);
}

/** Whether a word names one thing: it holds a digit, a path, an address, or is a code in capitals. */
function isLiteral(word: string): boolean {
  if (word === '' || TIME.test(word) || AMOUNT.test(word)) return false;
  if (/\d/.test(word)) return true;
  if (/[\p{L}\d][/\\@][\p{L}\d]/u.test(word) || /^[/~][\p{L}\d]/u.test(word)) return true;
  return /^[A-Z][A-Z_]{3,}$/.test(word);
}

/** The lines that hold a word or one that begins with it, ascending. */
export function linesWithWord(view: View, word: string): number[] {
  return linesHolding(view, word, { isNumber: false }, true);
}

/** The lines that hold a literal, ascending; empty if it does not occur, or on more than `most` lines. */
export function linesOf(view: View, literal: Literal, most: number): number[] {
  for (const { text, beginning } of spellings(literal)) {
    const lines = linesHolding(view, text, literal, beginning);
    if (lines.length === 0) continue;
    const phrase = literal.noun === '' ? lines : withNoun(view, lines, literal.noun);
    return phrase.length > most ? [] : phrase;
  }
  return [];
}

interface Spelling {
  readonly text: string;
  /** Whether the text may go on behind it. */
  readonly beginning: boolean;
}

/** The ways in which a text may spell a literal: as it is, then by the part that distinguishes it. */
function spellings({ text, isNumber, isHash }: Literal): Spelling[] {
  const whole = (one: string): Spelling => ({ text: one, beginning: false });
  if (isNumber) return [...new Set([text, text.replaceAll(/[,_]/g, ''), grouped(text)])].map(whole);
  if (isHash)
    return [{ text, beginning: true }, ...(text.length > 8 ? [{ text: text.slice(0, 7), beginning: true }] : [])];
  const all = [whole(text)];
  const uuid = /^[\da-f]{8}-[\da-f]{4}-/i.test(text);
  if (uuid) all.push({ text: text.slice(0, 8), beginning: true });
  if (/[/\\]/.test(text)) {
    // a tool may print a path relative to another folder
    for (let at = text.search(/[/\\]/); at >= 0; at = next(text, at)) all.push(whole(text.slice(at + 1)));
  } else if (!uuid) {
    const parts = text.split(/[^\p{L}\d]+/u).filter((part) => /\d/.test(part) && part.length > 2);
    all.push(...parts.sort((a, b) => b.length - a.length).map(whole));
  }
  return all.filter(({ text: one }) => one.length > 1);
}

function next(path: string, at: number): number {
  const found = path.slice(at + 1).search(/[/\\]/);
  return found < 0 ? -1 : at + 1 + found;
}

/** A number with commas between its thousands. */
function grouped(number: string): string {
  return number.replaceAll(/[,_]/g, '').replace(/^([-+]?)(\d+)/, (_, sign: string, digits: string) => {
    return sign + digits.replace(/\B(?=(?:\d{3})+$)/g, ',');
  });
}

/** Lines that hold a string in any of its usual cases, as a word of its own. */
function linesHolding(
  view: View,
  spelled: string,
  { isNumber }: Pick<Literal, 'isNumber'>,
  beginning: boolean,
): number[] {
  const lines = new Set<number>();
  const lower = spelled.toLowerCase();
  const capital = lower.charAt(0).toUpperCase() + lower.slice(1);
  for (const text of new Set([spelled, lower, spelled.toUpperCase(), capital])) {
    let line = 0;
    for (let at = view.text.indexOf(text); at >= 0; at = view.text.indexOf(text, at + text.length)) {
      if (!isAlone(view.codes, at, at + text.length, isNumber, beginning)) continue;
      while (line + 1 < view.n && (view.lines.starts[line + 1] ?? 0) <= at) line++;
      // a client's line number is not part of the text
      if (at >= (view.from[line] ?? 0)) lines.add(line);
    }
  }
  return [...lines].sort((a, b) => a - b);
}

function isAlone(codes: Uint16Array, start: number, end: number, isNumber: boolean, beginning: boolean): boolean {
  const joins = (at: number): boolean => isWordSign(codes[at] ?? 0) || (codes[at] ?? 0) >= 0xc0;
  if (joins(start) && joins(start - 1)) return false;
  if (!beginning && joins(end - 1) && joins(end)) return false;
  return !isNumber || !(continues(codes, start - 1, -1) || continues(codes, end, 1));
}

/** Whether a number goes on beyond a sign: a decimal, a clock, a date, an address. A fraction of zeros does not count. */
function continues(codes: Uint16Array, at: number, step: 1 | -1): boolean {
  if (!'.,:-'.includes(String.fromCharCode(codes[at] ?? 0)) || !isDigit(codes[at + step] ?? 0)) return false;
  if (step < 0 || codes[at] !== 46) return true;
  let end = at + 1;
  while (codes[end] === 48) end++;
  return isDigit(codes[end] ?? 0);
}

/** Of these lines, those that hold the noun as well; all if there is none. */
function withNoun({ text, from, to }: View, lines: readonly number[], noun: string): number[] {
  const stem = noun.toLowerCase().replace(/s$/, '');
  const both = lines.filter((i) => text.slice(from[i], to[i]).toLowerCase().includes(stem));
  return both.length > 0 ? both : [...lines];
}
