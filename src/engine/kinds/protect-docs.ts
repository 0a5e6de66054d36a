import { openings } from '../rules/openings.ts';
import { contentOf, isBlankLine, type View } from '../text/view.ts';
import type { Inner, Protect } from './protect.ts';
import type { Kind } from './recognise.ts';

const HEADING = /^#{1,6}\s/;
const UNDERLINE = /^(?:=+|-{4,}|~{4,}|\^{4,}|"{4,}|\*{4,}|\+{4,})$/;
/** Whether a heading, its underline or a fence may begin so. */
const OPENINGS = openings('#=-~^"*+', '`~');
const MAY_FENCE = 2;
const FENCE = /^\s*(?:```|~~~)/;

/** Keeps the heading tree. Fences are whole by the units they form; their own lines stay too. */
export function protectDocs(view: View, kind: Kind, inner: Inner, protect: Protect): void {
  if (kind.family === 'code') return; // what begins like a heading there is a comment
  const prose = kind.family === 'docs';
  let fenced = false;
  for (let i = inner.first; i < inner.end; i++) {
    const opening = OPENINGS[view.codes[view.ink[i] ?? 0] ?? 0] ?? 0;
    if (opening === 0 || (fenced && (opening & MAY_FENCE) === 0)) continue;
    const line = contentOf(view, i, 120);
    if ((opening & MAY_FENCE) !== 0 && FENCE.test(line)) {
      fenced = !fenced;
      continue;
    }
    if (fenced) continue;
    if (HEADING.test(line)) protect(i, 'heading');
    else if (prose && UNDERLINE.test(line)) {
      protect(i, 'heading');
      if (i > inner.first && !isBlankLine(view, i - 1)) protect(i - 1, 'heading');
    }
  }
  if (!prose) return;
  for (let i = inner.first, kept = 0; i < inner.end && kept < 1; i++) {
    if (isBlankLine(view, i)) continue;
    protect(i, 'edge');
    kept++;
  }
}
