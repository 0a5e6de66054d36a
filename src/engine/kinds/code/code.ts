import { scanWords } from '../../goal/words.ts';
import { namesakes } from '../../rank/block-features.ts';
import { largestOf } from '../../rank/measures.ts';
import { measureProse, rankByMeasures } from '../../rank/prose.ts';
import { CODE_WEIGHTS } from '../../rank/weights.ts';
import { contentOf, isBlankLine, type Units, type View } from '../../text/view.ts';
import { protectByContract } from '../contract.ts';
import { type Analysis, type Kind, READ_SIZE } from '../kind.ts';
import { protectSource } from './protect.ts';
import { codeUnits } from './units.ts';

const OF_KEYS: ReadonlySet<string> = new Set(['toml', 'yaml']);

export const code: Kind = {
  family: 'code',
  sourceType: 'code',
  names: {
    code: 'lua pl pm r dart ex exs erl hs ml clj zig proto tf gradle cmake',
    python: 'py pyi pyx',
    typescript: 'ts tsx mts cts',
    javascript: 'js jsx mjs cjs vue svelte',
    go: 'go',
    rust: 'rs',
    java: 'java kt scala groovy swift',
    c: 'c h cc cpp cxx hpp hh m',
    csharp: 'cs',
    ruby: 'rb rake',
    php: 'php',
    shell: 'sh bash zsh fish ps1',
    sql: 'sql',
    yaml: 'yaml yml',
    toml: 'toml ini cfg conf env',
    html: 'html htm xml svg',
    css: 'css scss less',
  },
  shapes: [
    {
      name: 'codeLike',
      pattern:
        /[;{}]$|^\s*(?:def|class|import|from|return|if|for|while|func|fn|let|const|var|public|private|static|use|package|#include|end|elif|else|try|except)\b|^\s*(?:\/\/|\/\*|\*\s)|\w\(.*\)\s*[:{]?$|^\s*[\w.]+ = /,
    },
  ],
  mentionsNames: true,
  looksLike: () => 0,
  units: codeUnits,
  declares: true,
  protect(text, protect) {
    if (text.sourceType === 'code') protectSource(text, protect);
    // headings are not protected, because similar lines in code are comments
    else if (text.sourceType === 'logs') protectByContract(text, protect);
  },
  // program output of the form `key = value` may look like configuration
  rows: (name, hints) => (hints?.origin === 'command' && OF_KEYS.has(name) ? 'keys' : 'none'),
  ranksByAllWords: true,
  rank: (reading) => rankByMeasures(code.measure?.(reading) ?? [], reading.view.n),
  measure: (reading) => measureProse(reading, CODE_WEIGHTS),
  boldness: {
    // a file that was read may be edited next; program output is only read
    atCeiling: { read: 0.7, command: 2.6, search: 1, listing: 1, unknown: 1.8 },
    readSize: READ_SIZE,
    mild: 0.27,
    deep: 0.27,
  },
  definitions: definitionsOf,
};

/** Blocks named by the goal are kept up to this share of the text. Set by hand, like the two below. */
const MOST_OF_TEXT = 0.25;
/** If the goal matches more constants, none of them is kept. */
const MOST_CONSTANTS = 12;
/** Maximum length of a constant, in lines. */
const MEMBER_LINES = 25;
const READ_CHARS = 200;
const CONSTANT =
  /^\s{0,40}(?:#\s{0,8}define\s{1,8}|(?:[A-Za-z][\w<>[\]]{0,60}\s{1,8}){0,6})([A-Z][A-Z\d]*_[A-Z\d_]*)(?:\s|=|:|$)/;

/**
 * Finds definitions of what the goal names: blocks whose name the goal spells out, and constants (`MAX_RETRIES`) with a
 * goal word in their name. A definition is more useful than mentions.
 *
 * @returns 1 for each such line
 */
function definitionsOf({ view, units, words, terms, match }: Analysis): Uint8Array {
  const out = new Uint8Array(view.n);
  const named = namesakes(view, units, terms, match);
  markNamed(view, units, named, out);
  const { weight } = match;
  const constants: number[] = [];
  for (const i of linesWithUnderscore(view)) {
    const name = CONSTANT.exec(contentOf(view, i, READ_CHARS))?.[1];
    if (name === undefined) continue;
    let isWanted = false;
    scanWords(name, 0, name.length, (hash) => {
      if ((weight[words.find(hash)] ?? 0) > 0) isWanted = true;
    });
    if (isWanted) constants.push(i);
    if (constants.length > MOST_CONSTANTS) return out;
  }
  for (const i of constants) markMember(units, i, out);
  return out;
}

/** Marks the lines of blocks named by the goal, unless they make up too much of the text. */
function markNamed(view: View, { unit }: Units, named: Float64Array, out: Uint8Array): void {
  if (largestOf(named) === 0) return;
  let lines = 0;
  for (let i = 0; i < out.length; i++) if (named[unit[i] ?? 0] !== 0) lines++;
  if (lines > view.n * MOST_OF_TEXT) return;
  for (let i = 0; i < out.length; i++) if (named[unit[i] ?? 0] !== 0 && !isBlankLine(view, i)) out[i] = 1;
}

/** Lines with an underscore near the beginning; only these can contain the name of a constant. */
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

/** Marks a constant together with the rest of its block, or alone if the block is long. */
function markMember({ unit }: Units, line: number, out: Uint8Array): void {
  let from = line;
  while (from > 0 && unit[from - 1] === unit[line] && line - from < MEMBER_LINES) from--;
  let to = line;
  while (to + 1 < out.length && unit[to + 1] === unit[line] && to - from < MEMBER_LINES) to++;
  if (to - from >= MEMBER_LINES) out[line] = 1;
  else out.fill(1, from, to + 1);
}
