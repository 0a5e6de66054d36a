import { LinePattern } from '../rules/matcher.ts';
import { isBlankLine, type View } from '../text/view.ts';
import type { Inner, Protect } from './protection.ts';

/** A command that lists the changed files, often before the change itself. */
const LISTS_CHANGES = /\bgit\b.*\s--(?:name-only|name-status|stat)\b/s;
/** A path alone on its line, after the letters of its status, or before the number of its changed lines. */
const CHANGED_FILE = new LinePattern(
  /^(?:[\w.@]\S*[./]\S*|(?:[MADRCTU]\d{0,3}|\?\?)\s+\S+(?:\s+\S+)?|\s?\S.*\s\|\s+(?:\d+\b.*|Bin\b.*))$/,
);
const READ_CHARS = 300;
/** Most file names that stay. Chosen: about a screen. */
const MOST_FILES = 60;

/** Keeps the names of changed files: the next calls go there, and only this summary lists them. */
export function protectChangedFiles(view: View, { first, end }: Inner, command: string, protect: Protect): void {
  if (!LISTS_CHANGES.test(command)) return;
  let left = MOST_FILES;
  for (let i = first; i < end && left > 0; i++) {
    if (isBlankLine(view, i) || !CHANGED_FILE.fits(view, i, READ_CHARS)) continue;
    protect(i, 'structure');
    left--;
  }
}
