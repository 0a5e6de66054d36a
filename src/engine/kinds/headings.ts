import { Matcher } from '../rules/matcher.ts';
import { TILDE } from '../text/chars.ts';
import { isBlankLine, type View } from '../text/view.ts';
import type { Protect, Protectable } from './kind.ts';

const RULES = new Matcher([
  { name: 'fence', pattern: /^\s*(?:```|~~~)/ },
  { name: 'heading', pattern: /^#{1,6}\s/ },
  { name: 'underline', pattern: /^(?:=+|-{4,}|~{4,}|\^{4,}|"{4,}|\*{4,}|\+{4,})$/ },
]);
const FENCE = RULES.bitsOf('fence');
const HEADING = RULES.bitsOf('heading');
const UNDERLINE = RULES.bitsOf('underline');
/** Number of leading characters searched for a fence, heading or ruler. Set by hand. */
const READ_CHARS = 120;

/** Minimum length of a heading's underline, as in reStructuredText. */
const LEAST_UNDERLINE = 4;

/** Whether a line is a tilde underline, at least as long as the title above it, and therefore not a fence. */
export function isTildeUnderline({ codes, firstNonBlank, to }: View, i: number): boolean {
  const start = firstNonBlank[i] ?? 0;
  const end = to[i] ?? 0;
  if (end - start < LEAST_UNDERLINE || i === 0) return false;
  for (let at = start; at < end; at++) if (codes[at] !== TILDE) return false;
  const title = (to[i - 1] ?? 0) - (firstNonBlank[i - 1] ?? 0);
  return title > 0 && title <= end - start;
}

/**
 * Keeps headings outside fences; with `underlined`, also underlines with the titles above. Table rulers with blanks do
 * not count.
 */
export function protectHeadings({ view, inner }: Protectable, protect: Protect, underlined = false): void {
  let fenced = false;
  for (let i = inner.first; i < inner.end; i++) {
    if (isBlankLine(view, i)) continue;
    const matchBits = RULES.matches(view, i, READ_CHARS);
    if ((matchBits & FENCE) !== 0 && (fenced || !isTildeUnderline(view, i))) fenced = !fenced;
    else if (fenced) continue;
    else if ((matchBits & HEADING) !== 0) protect(i, 'heading');
    else if (underlined && (matchBits & UNDERLINE) !== 0) {
      protect(i, 'heading');
      if (i > inner.first && !isBlankLine(view, i - 1)) protect(i - 1, 'heading');
    }
  }
}
