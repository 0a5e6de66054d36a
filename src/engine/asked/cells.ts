import { BAR, isBlankSign, SLASH, TAB } from '../text/chars.ts';
import type { View } from '../text/view.ts';

/**
 * Words that say little in a question, but are also names of programs, packages and files (`make`, `file`, `less`). Set by
 * hand: the stop words of a goal that name something on a usual system.
 */
const NAMES = new Set('at change code error file find less line make more new show support test use'.split(' '));
/** Names of which a search for words finds only a letter: `g++`, `c#`. */
const WITH_SIGNS = /^[\p{L}\d]+[+#]{1,2}$/u;
/** Signs around a word of a question. */
const AROUND = /^[\s.,;:!?()[\]{}"'`«»“”]+|[\s.,;:!?()[\]{}"'`«»“”]+$/g;
/** Maximum number of rows with a name, so that a common value is none. Set by hand: two architectures of a package. */
const MOST_ROWS = 2;

/** The lines of which a cell is a name that the goal mentions and that no search for its words would find. */
export function cellLines(view: View, goal: string): number[] {
  const words = new Set(goal.split(/\s+/).map((word) => word.replaceAll(AROUND, '').toLowerCase()));
  return [...words].flatMap((word) => {
    if (!NAMES.has(word) && !WITH_SIGNS.test(word)) return [];
    const lines = linesWithCell(view, word);
    return lines.length <= MOST_ROWS ? lines : [];
  });
}

function linesWithCell({ text, n, lines: { starts }, from, to }: View, word: string): number[] {
  const found: number[] = [];
  let line = 0;
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    while (line + 1 < n && (starts[line + 1] ?? 0) <= at) line++;
    if (found.at(-1) === line || !isCell(text, at, at + word.length, from[line] ?? 0, to[line] ?? 0)) continue;
    found.push(line);
    if (found.length > MOST_ROWS) break;
  }
  return found;
}

/** Whether two blanks, a tab, a bar or the line's end is on either side; behind a name at the beginning also a slash. */
function isCell(text: string, start: number, end: number, from: number, to: number): boolean {
  const [before, after] = [text.charCodeAt(start - 1), text.charCodeAt(end)];
  const opens = start === from || before === TAB || divides(text, start - 1, start - 2, from);
  const closes = end === to || after === TAB || divides(text, end, end + 1, to) || (start === from && after === SLASH);
  return opens && closes;
}

/** Whether a blank and a second one, a bar or the line's end follow each other, away from the word. */
function divides(text: string, near: number, far: number, edge: number): boolean {
  if (!isBlankSign(text.charCodeAt(near))) return text.charCodeAt(near) === BAR;
  return far === edge || isBlankSign(text.charCodeAt(far)) || text.charCodeAt(far) === BAR;
}
