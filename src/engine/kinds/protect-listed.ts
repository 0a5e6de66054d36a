import { openings } from '../rules/openings.ts';
import { contentOf, isBlankLine, type View } from '../text/view.ts';
import { findElements } from './json-elements.ts';
import type { Inner, Protect } from './protect.ts';

const GREP_FILE = /^((?:[A-Za-z]:)?[^:\n]+?)[:-]\d+[:-]|^((?:[A-Za-z]:)?[^:\n]+?):/;

/** The file that a line of grep output names, or `''`. */
export function grepFile(line: string): string {
  const match = GREP_FILE.exec(line);
  return match?.[1] ?? match?.[2] ?? '';
}

/** Keeps one line of every file that a search hit. */
export function protectSearch(view: View, inner: Inner, protect: Protect): void {
  let previous = '';
  for (let i = inner.first; i < inner.end; i++) {
    if (isBlankLine(view, i)) continue;
    const file = grepFile(contentOf(view, i, 300));
    if (file !== previous) protect(i, 'file-spread');
    previous = file;
  }
}

const HEADER_OPENINGS = openings('di-+@norsBcAD');

/** Keeps file and hunk headers. */
export function protectDiff(view: View, protect: Protect): void {
  for (let i = 0; i < view.n; i++) {
    if (HEADER_OPENINGS[view.codes[view.from[i] ?? 0] ?? 0] === 0) continue;
    const line = contentOf(view, i, 80);
    if (
      /^(?:diff |index [0-9a-f]|--- |\+\+\+ |@@|(?:new|deleted|old) |rename |similarity |Binary |commit [0-9a-f]|Author:|Date:)/.test(
        line,
      )
    )
      protect(i, 'diff-header');
  }
}

/** Keeps the names of directories and totals. */
export function protectListing(view: View, inner: Inner, protect: Protect): void {
  for (let i = inner.first; i < inner.end; i++) {
    const line = contentOf(view, i, 300);
    if (/^[^\s].*:$|^total \d|^\d+ director/.test(line)) protect(i, 'structure');
  }
  protect(inner.first, 'edge');
  protect(inner.end - 1, 'edge');
}

/** Keeps the lines that open and close what holds the elements. */
export function protectJson(view: View, inner: Inner, protect: Protect): void {
  const { frame } = findElements(view);
  for (let i = inner.first; i < inner.end; i++) if (frame[i]) protect(i, 'structure');
}

/** Keeps a table's header. */
export function protectTable(view: View, inner: Inner, protect: Protect): void {
  protect(inner.first, 'structure');
  for (let i = inner.first + 1; i < Math.min(inner.end, inner.first + 4); i++) {
    if (/^\s*\|?[\s:|+-]+$/.test(contentOf(view, i, 200))) protect(i, 'structure');
  }
  protect(inner.end - 1, 'edge');
}
