import type { Templates } from '../text/templates.ts';
import { bearsNumber, isUnnumbered, type View } from '../text/view.ts';
import type { Hints } from '../types.ts';
import { protectCode } from './code/protect.ts';
import { protectLog } from './log/protect.ts';
import { protectDocs } from './protect-docs.ts';
import { protectDiff, protectJson, protectListing, protectSearch, protectTable } from './protect-listed.ts';
import type { Kind } from './recognise.ts';
import type { Units } from './units.ts';

/** Names of the rules by which a line must stay; a line's rule is an index into this list, 0 for none. */
export const RULES = [
  '',
  'no-prune',
  'frame',
  'header',
  'import',
  'declaration',
  'failure',
  'news',
  'trace',
  'summary',
  'edge',
  'heading',
  'fence',
  'diff-header',
  'file-spread',
  'structure',
] as const;

export type Rule = (typeof RULES)[number];

/** Sets a line's rule unless an earlier rule has it. */
export type Protect = (line: number, rule: Rule) => void;

const BEGIN = '⟦NO_PRUNE_BEGIN⟧';
const END = '⟦NO_PRUNE_END⟧';

/** Marks the lines that nothing may cut: an index into `RULES` for each line. */
export function protectLines(
  view: View,
  kind: Kind,
  templates: Templates,
  units: Units,
  hints: Hints | undefined,
): Uint8Array {
  const rules = new Uint8Array(view.n);
  const protect: Protect = (line, rule) => {
    if (line >= 0 && line < view.n && rules[line] === 0) rules[line] = RULES.indexOf(rule);
  };
  const head = Math.min(view.n, hints?.frameHead ?? 0);
  const tail = Math.min(view.n, hints?.frameTail ?? 0);
  for (let i = 0; i < head; i++) protect(i, 'frame');
  for (let i = view.n - tail; i < view.n; i++) protect(i, 'frame');
  protectDirectives(view, protect);
  if (view.numbered) protectCoordinates(view, protect);
  const inner = { first: head, end: Math.max(head, view.n - tail) };
  // the contract's rules go by the source type that the caller named, the finer ones by the kind that was recognised
  if (kind.sourceType === 'code') protectCode(view, kind, units, inner, protect);
  if (kind.sourceType === 'docs') protectDocs(view, kind, inner, protect);
  if (kind.sourceType === 'logs' || kind.family === 'log') protectLog(view, templates, inner, protect);
  if (kind.family === 'search') protectSearch(view, inner, protect);
  if (kind.family === 'diff') protectDiff(view, protect);
  if (kind.family === 'listing') protectListing(view, inner, protect);
  if (kind.family === 'json') protectJson(view, inner, protect);
  if (kind.family === 'table') protectTable(view, inner, protect);
  return rules;
}

/** The part of a text between a client's head and tail frames, as line indices `[first, end)`. */
export interface Inner {
  readonly first: number;
  readonly end: number;
}

/** What a tool says right above and below the lines that it numbers: which file, how many lines more. */
function protectCoordinates(view: View, protect: Protect): void {
  for (let i = 0; i < view.n; ) {
    let end = i;
    while (end < view.n && isUnnumbered(view, end)) end++;
    const joined = bearsNumber(view, i - 1) || bearsNumber(view, end);
    for (let k = i; joined && k < end; k++) protect(k, 'frame');
    i = Math.max(end, i + 1);
  }
}

function protectDirectives(view: View, protect: Protect): void {
  if (!view.text.includes(BEGIN)) return;
  let fenced = false;
  for (let i = 0; i < view.n; i++) {
    const start = view.ink[i] ?? 0;
    const length = (view.to[i] ?? 0) - start;
    if (length === BEGIN.length && view.text.startsWith(BEGIN, start)) fenced = true;
    if (fenced) protect(i, 'no-prune');
    if (length === END.length && view.text.startsWith(END, start)) fenced = false;
  }
}
