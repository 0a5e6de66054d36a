import { isDigit, SPACE, TAB } from './chars.ts';
import { type Lines, lineAt, startOf } from './lines.ts';

/**
 * The line numbers that a tool printed before the lines of a text (`cat -n`, an agent's `12|`, `12: `, `12→`, `12. `).
 */
export interface Numbering {
  /**
   * Offset after the prefix of the line in `[start, end)`, or `start` if it has none. `end` is after the last non-blank
   * character, so that the offset is beyond it if the line contains nothing else.
   */
  contentStart(text: string, start: number, end: number): number;
}

/** Lines that are examined. Chosen, as all below. */
const SAMPLE = 60;
/** Least number of numbered lines; fewer may begin with numbers by chance. */
const LEAST_LINES = 3;
/** Least share of lines with a number, and of those, of lines whose number follows the one before. */
const NUMBERED_SHARE = 0.8;
const CONSECUTIVE_SHARE = 0.9;
/** Most blanks before a number, and the pattern of a number with its separator. */
const MOST_BLANKS = 8;
const READ_CHARS = 24;
const PREFIX = /^ {0,8}(\d{1,7})(\t|→|: ?|\. ?|│ ?| ?\| ?| {2}|$)/;

/** Recognises consecutive numbers with the same separator at the beginning of most lines; else returns `null`. */
export function findNumbering(lines: Lines, skip: number): Numbering | null {
  const first = Math.min(skip, lines.count);
  const last = Math.min(lines.count, first + SAMPLE);
  const looked = last - first;
  if (looked < LEAST_LINES) return null;
  const separators = new Map<string, number>();
  let consecutive = 0;
  let numbered = looked;
  let previous = -1;
  for (let line = first + 1; line <= last; line++) {
    const match = mayBeNumbered(lines.text, startOf(lines, line)) ? PREFIX.exec(beginningOf(lines, line)) : null;
    if (match === null) {
      numbered--;
      if (numbered < looked * NUMBERED_SHARE) return null;
      continue;
    }
    const number = Number(match[1]);
    if (number === previous + 1) consecutive++;
    previous = number;
    const separator = (match[2] ?? '').trim() || (match[2] ?? '');
    separators.set(separator, (separators.get(separator) ?? 0) + 1);
  }
  if (consecutive < (numbered - 1) * CONSECUTIVE_SHARE) return null;
  const [separator] = [...separators].filter(([s]) => s !== '').sort((a, b) => b[1] - a[1])[0] ?? [];
  if (separator === undefined) return null;
  return { contentStart: (text, start, end) => behindPrefix(text, start, end, separator) };
}

function beginningOf(lines: Lines, line: number): string {
  return lineAt(lines, line).slice(0, READ_CHARS);
}

/** Whether there is a digit at a place, after blanks or not. */
function mayBeNumbered(text: string, start: number): boolean {
  let at = start;
  while (text.charCodeAt(at) === SPACE && at - start < MOST_BLANKS) at++;
  return isDigit(text.charCodeAt(at));
}

/** Separators that are followed by a blank. */
const PADDED: ReadonlySet<string> = new Set([':', '.', '|', '│']);

function behindPrefix(text: string, start: number, end: number, separator: string): number {
  let at = start;
  while (at < end && text.charCodeAt(at) === SPACE) at++;
  const digits = at;
  while (at < end && isDigit(text.charCodeAt(at))) at++;
  if (at === digits) return start;
  if (separator === '|' && text.charCodeAt(at) === SPACE) at++;
  if (!text.startsWith(separator, at)) return at === end ? end : start;
  at += separator.length;
  // a blank behind the separator belongs to the prefix; `cat -n` and arrows have none
  return PADDED.has(separator) && text.charCodeAt(at) === SPACE && text.charCodeAt(at - 1) !== TAB ? at + 1 : at;
}
