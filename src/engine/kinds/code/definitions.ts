import { scanWords } from '../../goal/words.ts';
import { namesakes } from '../../rank/block-features.ts';
import { largestOf } from '../../rank/columns.ts';
import type { Units } from '../../text/units.ts';
import { contentOf, isBlankLine, type View } from '../../text/view.ts';
import type { Analysis } from '../kind.ts';

/** Blocks that the goal names are kept if they are at most this share of the text. Chosen, as the two below. */
const MOST_OF_TEXT = 0.25;
/** Most constants that are kept, in lines. */
const MOST_CONSTANTS = 12;
/** Longest constant, in lines. */
const MEMBER_LINES = 25;
const READ_CHARS = 200;
const CONSTANT =
  /^\s{0,40}(?:#\s{0,8}define\s{1,8}|(?:[A-Za-z][\w<>[\]]{0,60}\s{1,8}){0,6})([A-Z][A-Z\d]*_[A-Z\d_]*)(?:\s|=|:|$)/;

/**
 * Where code defines what the goal names: the blocks whose own name the goal spells out, and constants (`MAX_RETRIES`)
 * with one of its words in their name. A definition is more useful than mentions.
 *
 * @returns 1 for each such line
 */
export function definitionsOf({
  view,
  units,
  words,
  terms,
  match,
}: Pick<Analysis, 'view' | 'units' | 'words' | 'terms' | 'match'>): Uint8Array {
  const out = new Uint8Array(view.n);
  const named = namesakes(view, units, terms, match);
  markNamed(view, units, named, out);
  const { weight } = match;
  const constants: number[] = [];
  for (const i of linesWithUnderscore(view)) {
    const name = CONSTANT.exec(contentOf(view, i, READ_CHARS))?.[1];
    if (name === undefined) continue;
    let asked = false;
    scanWords(name, 0, name.length, (hash) => {
      if ((weight[words.find(hash)] ?? 0) > 0) asked = true;
    });
    if (asked) constants.push(i);
    if (constants.length > MOST_CONSTANTS) return out;
  }
  for (const i of constants) markMember(units, i, out);
  return out;
}

/** Marks the lines of blocks that the goal names, unless they are too large a part of the text. */
function markNamed(view: View, { unit }: Units, named: Float64Array, out: Uint8Array): void {
  if (largestOf(named) === 0) return;
  let lines = 0;
  for (let i = 0; i < out.length; i++) if (named[unit[i] ?? 0] !== 0) lines++;
  if (lines > view.n * MOST_OF_TEXT) return;
  for (let i = 0; i < out.length; i++) if (named[unit[i] ?? 0] !== 0 && !isBlankLine(view, i)) out[i] = 1;
}

/** Lines with an underscore in their first characters: only these can contain the name of a constant. */
function linesWithUnderscore({ text, n, from, to }: View): number[] {
  const found: number[] = [];
  let at = text.indexOf('_');
  for (let i = 0; i < n && at >= 0; i++) {
    const start = from[i] ?? 0;
    if (at < start) at = text.indexOf('_', start);
    if (at >= start && at < Math.min(to[i] ?? 0, start + READ_CHARS)) found.push(i);
  }
  return found;
}

/** Marks a constant together with its comment. */
function markMember({ unit }: Units, line: number, out: Uint8Array): void {
  let from = line;
  while (from > 0 && unit[from - 1] === unit[line] && line - from < MEMBER_LINES) from--;
  let to = line;
  while (to + 1 < out.length && unit[to + 1] === unit[line] && to - from < MEMBER_LINES) to++;
  if (to - from >= MEMBER_LINES) out[line] = 1;
  else out.fill(1, from, to + 1);
}
