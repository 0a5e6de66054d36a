import { saysLittle } from '../goal/terms.ts';
import { BAR, COLON, isBlankSign, isDigit, SLASH, TAB } from '../text/chars.ts';
import type { View } from '../text/view.ts';

/** Words that say little in a question, but are also names of programs and packages. Set by hand, like all below. */
const NAMES = new Set(
  'at change code error file find fix issue less line make more new show support test use'.split(' '),
);
/** Signs around a word of a question. */
const AROUND = /^[\s.,;:!?()[\]{}"'`«»“”]+|[\s.,;:!?()[\]{}"'`«»“”]+$/g;
/** Longer words are no names; the pattern above would take long for them. */
const MAX_CHARS = 200;
/** Maximum number of words that are looked for: those of the question, not of a long task behind it. */
const MOST_WORDS = 40;
/** Maximum number of rows with one name, so that a common value is none: versions and architectures of a package. */
const MOST_ROWS = 4;

/**
 * The lines with a cell that is a word of the goal, or that word and a version (`libssl` for `libssl3:amd64`). Words that
 * say little in a question (`make`) and names with signs (`g++`) have no terms by which such a row would be found, and a
 * row of `python3` has the same word as each row of `python3-yaml`.
 */
export function cellLines(view: View, goal: string): number[] {
  const short = goal.split(/\s+/).filter((word) => word.length <= MAX_CHARS);
  const words = new Set(short.map((word) => word.replaceAll(AROUND, '').toLowerCase()));
  return [...words].slice(0, MOST_WORDS).flatMap((word) => {
    if (word.length < 2 || (saysLittle(word) && !NAMES.has(word))) return [];
    const lines = linesWithCell(view, word);
    return lines.length <= MOST_ROWS ? lines : [];
  });
}

function linesWithCell({ text, n, lines: { starts }, from, to }: View, word: string): number[] {
  const found: number[] = [];
  let line = 0;
  for (let at = text.indexOf(word); at >= 0 && found.length <= MOST_ROWS; at = text.indexOf(word, at + word.length)) {
    while (line + 1 < n && (starts[line + 1] ?? 0) <= at) line++;
    if (found.at(-1) !== line && isCell(text, at, at + word.length, from[line] ?? 0, to[line] ?? 0)) found.push(line);
  }
  return found;
}

/** Whether two blanks, a tab, a bar or the line's end is on either side; behind a name also a version or a slash. */
function isCell(text: string, start: number, end: number, from: number, to: number): boolean {
  const [before, after] = [text.charCodeAt(start - 1), text.charCodeAt(end)];
  const opens = start === from || before === TAB || divides(text, start - 1, start - 2, from);
  if (!opens) return false;
  if (end === to || after === TAB || divides(text, end, end + 1, to)) return true;
  return isDigit(after) || after === COLON || (start === from && after === SLASH);
}

/** Whether a blank and a second one, a bar or the line's end follow each other, away from the word. */
function divides(text: string, near: number, far: number, edge: number): boolean {
  if (!isBlankSign(text.charCodeAt(near))) return text.charCodeAt(near) === BAR;
  return far === edge || isBlankSign(text.charCodeAt(far)) || text.charCodeAt(far) === BAR;
}
