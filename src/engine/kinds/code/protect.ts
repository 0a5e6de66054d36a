import { LinePattern } from '../../rules/matcher.ts';
import { contentOf, DECLARED, isBlankLine, type View } from '../../text/view.ts';
import type { Inner, Protect, Protectable } from '../kind.ts';

/** Maximum number of header comment lines kept. Set by hand: licence texts are longer, and nobody needs them. */
const HEADER_LINES = 6;
/** Maximum number of lines of an import that are kept. Set by hand. */
const MAX_IMPORT_LINES = 60;
const COMMENT = /^\s*(?:#|\/\/|\/\*|\*|<!--|--|;|"""|'''|%)/;
const DECORATOR = new LinePattern(/^\s*(?:@[\w.]|#!?\[|\[\w[\w.]*(?:\(.*\))?\]$)/);

/** Keeps declarations in texts of any kind. */
export function protectDeclarations({ units, inner }: Protectable, protect: Protect): void {
  for (let i = inner.first; i < inner.end; i++) {
    const declared = units.declared[i] ?? 0;
    if (declared !== DECLARED.none) protect(i, declared === DECLARED.import ? 'import' : 'declaration');
  }
}

/** Keeps a source file's header, imports up to their closing bracket, and declarations with decorators. */
export function protectSource({ view, units, inner }: Protectable, protect: Protect): void {
  protectHeader(view, inner, protect);
  let decorators = -1;
  for (let i = inner.first; i < inner.end; i++) {
    if (isBlankLine(view, i)) continue;
    const declared = units.declared[i] ?? 0;
    if (declared === DECLARED.none) {
      if (!DECORATOR.fits(view, i)) decorators = -1;
      else if (decorators < 0) decorators = i;
      continue;
    }
    protect(i, declared === DECLARED.import ? 'import' : 'declaration');
    if (decorators >= 0) for (let k = decorators; k < i; k++) protect(k, 'declaration');
    decorators = -1;
    if (declared === DECLARED.import) protectOpenImport(view, i, inner.end, protect);
  }
}

function protectHeader(view: View, inner: Inner, protect: Protect): void {
  for (let i = inner.first; i < Math.min(inner.end, inner.first + HEADER_LINES); i++) {
    if (i > inner.first && !COMMENT.test(contentOf(view, i, 40))) break;
    protect(i, 'header');
  }
}

/** Keeps the lines of an import up to its closing bracket. */
function protectOpenImport(view: View, start: number, end: number, protect: Protect): void {
  const line = contentOf(view, start);
  const closing = line.endsWith('(') ? ')' : line.endsWith('{') ? '}' : '';
  if (closing === '') return;
  for (let i = start + 1; i < Math.min(end, start + MAX_IMPORT_LINES); i++) {
    protect(i, 'import');
    if (contentOf(view, i, 200).trimStart().startsWith(closing)) return;
  }
}
