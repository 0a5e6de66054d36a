import { openings } from '../../rules/openings.ts';
import { contentOf, isBlankLine, type View } from '../../text/view.ts';
import type { Inner, Protect } from '../protect.ts';
import type { Kind } from '../recognise.ts';
import { DECLARED, type Units } from '../units.ts';

const HEADER_LINES = 6;
const MAX_IMPORT_LINES = 60;
const COMMENT = /^\s*(?:#|\/\/|\/\*|\*|<!--|--|;|"""|'''|%)/;
const DECORATOR = /^\s*(?:@[\w.]|#!?\[|\[\w[\w.]*(?:\(.*\))?\]$)/;
const DECORATOR_OPENINGS = openings('@#[');

/** Keeps the file header, imports, declarations and their decorators. */
export function protectCode(view: View, kind: Kind, units: Units, inner: Inner, protect: Protect): void {
  const plain = kind.family === 'code';
  if (plain) protectHeader(view, inner, protect);
  let decorators = -1;
  for (let i = inner.first; i < inner.end; i++) {
    if (isBlankLine(view, i)) continue;
    const declared = units.declared[i] ?? 0;
    if (declared === DECLARED.none) {
      if (!plain || !isDecorator(view, i)) decorators = -1;
      else if (decorators < 0) decorators = i;
      continue;
    }
    protect(i, declared === DECLARED.import ? 'import' : 'declaration');
    if (decorators >= 0) for (let k = decorators; k < i; k++) protect(k, 'declaration');
    decorators = -1;
    if (declared === DECLARED.import && plain) protectOpenImport(view, i, contentOf(view, i), inner.end, protect);
  }
}

function isDecorator(view: View, i: number): boolean {
  const may = DECORATOR_OPENINGS[view.codes[view.ink[i] ?? 0] ?? 0] !== 0;
  return may && DECORATOR.test(contentOf(view, i));
}

function protectHeader(view: View, inner: Inner, protect: Protect): void {
  for (let i = inner.first; i < Math.min(inner.end, inner.first + HEADER_LINES); i++) {
    if (i > inner.first && !COMMENT.test(contentOf(view, i, 40))) break;
    protect(i, 'header');
  }
}

/** An import that opens a bracket goes on to its closing one. */
function protectOpenImport(view: View, start: number, line: string, end: number, protect: Protect): void {
  const closing = /\($/.test(line) ? ')' : /\{$/.test(line) ? '}' : '';
  if (closing === '') return;
  for (let i = start + 1; i < Math.min(end, start + MAX_IMPORT_LINES); i++) {
    protect(i, 'import');
    if (contentOf(view, i, 200).trimStart().startsWith(closing)) return;
  }
}
