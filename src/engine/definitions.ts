import type { Analysis } from './analysis.ts';
import { namesakes } from './signals-block.ts';
import type { Units } from './units.ts';
import { contentOf, isBlankLine } from './view.ts';
import { scanWords } from './words.ts';

/** Blocks that are asked for by name are kept as long as they are no more than this share of the text. */
const MOST_OF_TEXT = 0.25;
/** The same for constants, in lines. */
const MOST_CONSTANTS = 12;
/** A member of more lines is more than a constant. */
const MEMBER_LINES = 25;
const READ_CHARS = 200;
const CONSTANT =
  /^\s{0,40}(?:#\s{0,8}define\s{1,8}|(?:[A-Za-z][\w<>[\]]{0,60}\s{1,8}){0,6})([A-Z][A-Z\d]*_[A-Z\d_]*)(?:\s|=|:|$)/;

/**
 * Where code defines what the goal names: the blocks whose own name the goal spells out, and constants (`MAX_RETRIES`) with
 * one of its words in their name. Who asks for a thing wants its definition before all mentions.
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
  const named = namesakes(view, units, terms);
  let lines = 0;
  for (let i = 0; i < view.n; i++) if ((named[units.unit[i] ?? 0] ?? 0) > 0) lines++;
  if (lines <= view.n * MOST_OF_TEXT) {
    for (let i = 0; i < view.n; i++) if ((named[units.unit[i] ?? 0] ?? 0) > 0 && !isBlankLine(view, i)) out[i] = 1;
  }
  const { weight } = match;
  const constants: number[] = [];
  for (let i = 0; i < view.n && constants.length <= MOST_CONSTANTS; i++) {
    if (isBlankLine(view, i)) continue;
    const line = contentOf(view, i, READ_CHARS);
    const name = CONSTANT.exec(line)?.[1];
    if (name === undefined) continue;
    let asked = false;
    scanWords(name, 0, name.length, (hash) => {
      if ((weight[words.find(hash)] ?? 0) > 0) asked = true;
    });
    if (asked) constants.push(i);
  }
  if (constants.length <= MOST_CONSTANTS) for (const i of constants) markMember(units, i, out);
  return out;
}

/** Marks a constant with the comment that belongs to it, which in a file that is read goes or stays with it. */
function markMember({ unit }: Units, line: number, out: Uint8Array): void {
  let from = line;
  while (from > 0 && unit[from - 1] === unit[line] && line - from < MEMBER_LINES) from--;
  let to = line;
  while (to + 1 < out.length && unit[to + 1] === unit[line] && to - from < MEMBER_LINES) to++;
  if (to - from >= MEMBER_LINES) out[line] = 1;
  else out.fill(1, from, to + 1);
}
