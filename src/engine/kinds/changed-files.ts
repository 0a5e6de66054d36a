import { LinePattern } from '../rules/matcher.ts';
import { isBlankLine, type View } from '../text/view.ts';
import type { Inner, Protect } from './protection.ts';

/** A command that lists the files of a change, often in front of the change itself. */
const LISTS_CHANGES = /\bgit\b.*\s--(?:name-only|name-status|stat)\b/s;
/** A path alone on its line, behind the letters of its status, or in front of how many of its lines changed. */
const CHANGED_FILE = new LinePattern(
  /^(?:[\w.@]\S*[./]\S*|(?:[MADRCTU]\d{0,3}|\?\?)\s+\S+(?:\s+\S+)?|\s?\S.*\s\|\s+(?:\d+\b.*|Bin\b.*))$/,
);
const READ_CHARS = 300;
/** So many stay. Chosen: about a screen. */
const MOST_FILES = 60;

/** Keeps the names of the files that a change concerns: they are where the next calls go, and a summary is all that lists them. */
export function protectChangedFiles(view: View, { first, end }: Inner, command: string, protect: Protect): void {
  if (!LISTS_CHANGES.test(command)) return;
  let left = MOST_FILES;
  for (let i = first; i < end && left > 0; i++) {
    if (isBlankLine(view, i) || !CHANGED_FILE.fits(view, i, READ_CHARS)) continue;
    protect(i, 'structure');
    left--;
  }
}
