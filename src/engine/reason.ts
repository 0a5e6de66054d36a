import type { GoalTerm } from './goal-terms.ts';
import type { Kind } from './kinds.ts';
import type { Run } from './select.ts';
import type { View } from './view.ts';

const MOST_CHARS = 24;

/** Says in a few French words what went and against which goal. */
export function reasonFor(_view: View, _kind: Kind, terms: readonly GoalTerm[], _run: Run): string {
  let named = '';
  for (const { word } of terms.slice(0, 3)) {
    if (named.length + word.length >= MOST_CHARS) continue;
    named += named === '' ? word : ` ${word}`;
  }
  return named === '' ? 'hors focus' : `hors focus: ${named}`;
}
