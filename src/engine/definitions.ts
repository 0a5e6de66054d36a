import type { Analysis } from './analysis.ts';
import { weighWords } from './relevance.ts';
import { namesakes } from './signals-block.ts';
import { contentOf, isBlankLine } from './view.ts';
import { scanWords } from './words.ts';

/** Blocks that are asked for by name are kept as long as they are no more than this share of the text. */
const MOST_OF_TEXT = 0.25;
/** The same for constants, in lines. */
const MOST_CONSTANTS = 12;
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
}: Pick<Analysis, 'view' | 'units' | 'words' | 'terms'>): Uint8Array {
  const out = new Uint8Array(view.n);
  const named = namesakes(view, units, terms);
  let lines = 0;
  for (let i = 0; i < view.n; i++) if ((named[units.unit[i] ?? 0] ?? 0) > 0) lines++;
  if (lines <= view.n * MOST_OF_TEXT) {
    for (let i = 0; i < view.n; i++) if ((named[units.unit[i] ?? 0] ?? 0) > 0 && !isBlankLine(view, i)) out[i] = 1;
  }
  const weight = weighWords(view, words, terms);
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
  if (constants.length <= MOST_CONSTANTS) for (const i of constants) out[i] = 1;
  return out;
}
