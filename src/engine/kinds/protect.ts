import { bearsNumber, isUnnumbered, type View } from '../text/view.ts';
import type { Hints } from '../types.ts';
import { protectChangedFiles } from './changed-files.ts';
import { protectIds } from './ids.ts';
import type { Kind, Protectable } from './kind.ts';
import { type Protect, RULES } from './protection.ts';

const BEGIN = '⟦NO_PRUNE_BEGIN⟧';
const END = '⟦NO_PRUNE_END⟧';

/** Marks the lines that must stay: for each line, an index into `RULES`. */
export function protectLines(kind: Kind, text: Omit<Protectable, 'inner'>, hints: Hints | undefined): Uint8Array {
  const { view } = text;
  const rules = new Uint8Array(view.n);
  const protect: Protect = (line, rule) => {
    if (line >= 0 && line < view.n && rules[line] === 0) rules[line] = RULES.indexOf(rule);
  };
  const first = Math.min(view.n, hints?.frameHead ?? 0);
  const tail = Math.min(view.n, hints?.frameTail ?? 0);
  for (let i = 0; i < first; i++) protect(i, 'frame');
  for (let i = view.n - tail; i < view.n; i++) protect(i, 'frame');
  protectDirectives(view, protect);
  if (view.numbered) protectCoordinates(view, protect);
  const inner = { first, end: Math.max(first, view.n - tail) };
  if (hints?.origin !== 'read') protectIds(view, inner, protect);
  protectChangedFiles(view, inner, hints?.command ?? '', protect);
  kind.protect({ ...text, inner }, protect);
  return rules;
}

/** Keeps what a tool prints above and below numbered lines: the file, the number of further lines. */
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
