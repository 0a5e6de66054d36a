import { LinePattern } from '../rules/matcher.ts';
import { bearsNumber, isBlankLine, isUnnumbered, type View } from '../text/view.ts';
import type { Hints } from '../types.ts';
import { protectIds } from './ids.ts';
import { type Inner, type Protect, type Protectable, type Reading, RULES } from './kind.ts';
import { protectRows } from './rows/rows.ts';
import { protectSigns } from './rows/signs.ts';

const BEGIN = '⟦NO_PRUNE_BEGIN⟧';
const END = '⟦NO_PRUNE_END⟧';

/** Determines the lines that must stay: for each line, an index into `RULES`. */
export function protectLines(
  { kind, name }: Pick<Reading, 'kind' | 'name'>,
  text: Omit<Protectable, 'inner' | 'hints'>,
  hints: Hints | undefined,
): Uint8Array {
  const { view } = text;
  const rules = new Uint8Array(view.n);
  const protect: Protect = (line, rule) => {
    if (line >= 0 && line < view.n && rules[line] === 0) rules[line] = RULES.indexOf(rule);
  };
  const first = Math.min(view.n, hints?.frameHead ?? 0);
  const tail = Math.min(view.n, hints?.frameTail ?? 0);
  for (let i = 0; i < first; i++) protect(i, 'frame');
  for (let i = view.n - tail; i < view.n; i++) protect(i, 'frame');
  for (const { startLine, endLine } of hints?.served ?? []) {
    for (let i = startLine - 1; i < endLine; i++) protect(i, 'recovered');
  }
  protectDirectives(view, protect);
  if (view.numbered) protectCoordinates(view, protect);
  const inner = { first, end: Math.max(first, view.n - tail) };
  const block = kind.family === 'log' && name !== 'build-log' ? text.units.unit : null;
  if (hints?.origin !== 'read') protectIds(view, inner, block, protect);
  protectChangedFiles(view, inner, hints?.command ?? '', protect);
  if (hints?.origin !== 'read') protectSigns(view, text.templates, inner, protect);
  kind.protect({ ...text, inner, hints }, protect);
  const scope = kind.rows?.(name, hints) ?? 'none';
  if (scope !== 'none') protectRows(view, inner, scope, protect, kind.mayBeRow?.(text, name));
  return rules;
}

/** Keeps lines that a tool prints around numbered lines: the file name, the number of further lines. */
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
    const start = view.firstNonBlank[i] ?? 0;
    const length = (view.to[i] ?? 0) - start;
    if (length === BEGIN.length && view.text.startsWith(BEGIN, start)) fenced = true;
    if (fenced) protect(i, 'no-prune');
    if (length === END.length && view.text.startsWith(END, start)) fenced = false;
  }
}

/** A command that lists the changed files, often before the change itself. */
const LISTS_CHANGES = /\bgit\b.*\s--(?:name-only|name-status|stat)\b/s;
/** A path on its own line, after status letters, or before the number of changed lines. */
const CHANGED_FILE = new LinePattern(
  /^(?:[\w.@]\S*[./]\S*|(?:[MADRCTU]\d{0,3}|\?\?)\s+\S+(?:\s+\S+)?|\s?\S.*\s\|\s+(?:\d+\b.*|Bin\b.*))$/,
);
const READ_CHARS = 300;
/** Maximum number of file names that are kept. Set by hand: about a screen. */
const MOST_FILES = 60;

/** Keeps the names of changed files, because the next calls refer to them. */
function protectChangedFiles(view: View, { first, end }: Inner, command: string, protect: Protect): void {
  if (!LISTS_CHANGES.test(command)) return;
  let left = MOST_FILES;
  for (let i = first; i < end && left > 0; i++) {
    if (isBlankLine(view, i) || !CHANGED_FILE.fits(view, i, READ_CHARS)) continue;
    protect(i, 'structure');
    left--;
  }
}

/** Minimum match for keeping a line, relative to the best match in the text. Set by hand. */
const STRONG = 0.8;
/** Maximum number of lines kept for their match. Set by hand: an answer is a line or two. */
const MOST_ANSWERS = 3;

/** Keeps the few lines that match the goal best; lines glued to them stay as well. */
export function keepBestMatches({ view, match: { raw } }: Reading, keep: Uint8Array): void {
  let best = 0;
  for (let i = 0; i < view.n; i++) best = Math.max(best, raw[i] ?? 0);
  if (best === 0) return;
  const strong: number[] = [];
  for (let i = 0; i < view.n; i++) if ((raw[i] ?? 0) >= STRONG * best) strong.push(i);
  strong.sort((a, b) => (raw[b] ?? 0) - (raw[a] ?? 0) || a - b);
  for (const i of strong.slice(0, MOST_ANSWERS)) if (keep[i] === 0) keep[i] = RULES.indexOf('named');
}
