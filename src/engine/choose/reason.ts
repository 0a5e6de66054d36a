import type { Analysis, CutNature } from '../kinds/kind.ts';
import { shortList } from '../text/short-list.ts';
import type { Choice, Run } from './runs.ts';

/** A cut of fewer tokens does not name the goal: the words would cost more than they tell. */
const NAMED_TOKENS = 400;

/** Says in a few French words what went and, for a large cut, against which goal. */
export function reasonFor(analysis: Analysis, { tokens }: Choice, run: Run): string {
  const nature = analysis.kind.natureOf?.(analysis, run) ?? null;
  let size = 0;
  for (let i = run.from; i <= run.to; i++) size += tokens[i] ?? 0;
  return wordsFor(nature, size < NAMED_TOKENS, () => shortList(analysis.terms.map(({ word }) => word)));
}

function wordsFor(nature: CutNature | null, short: boolean, goal: () => string): string {
  if (nature?.is === 'passed-tests') return 'tests réussis';
  if (nature?.is === 'repeated') return short ? 'répétitif' : `journal répétitif: ${nature.like}`;
  const named = short ? '' : goal();
  return named === '' ? 'hors focus' : `hors focus: ${named}`;
}
