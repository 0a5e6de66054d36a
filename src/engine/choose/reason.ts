import type { Analysis, CutNature } from '../kinds/kind.ts';
import { REASONS, type ReasonLanguage } from '../text/reasons.ts';
import { shortList } from '../text/short-list.ts';
import type { Choice, Run } from './runs.ts';

/**
 * The reason of a smaller cut does not name the goal, because the words would cost more than they help. In tokens.
 * Chosen.
 */
const NAMED_TOKENS = 400;

/** States in a few words what was cut and, for a large cut, against which goal. */
export function reasonFor(analysis: Analysis, { tokens }: Choice, run: Run, language: ReasonLanguage = 'fr'): string {
  const nature = analysis.kind.natureOf?.(analysis, run) ?? null;
  let size = 0;
  for (let i = run.from; i <= run.to; i++) size += tokens[i] ?? 0;
  const goal = (): string => shortList(analysis.terms.map(({ word }) => word));
  return wordsFor(nature, size < NAMED_TOKENS, goal, language);
}

function wordsFor(nature: CutNature | null, short: boolean, goal: () => string, language: ReasonLanguage): string {
  const words = REASONS[language];
  if (nature?.is === 'passed-tests') return words.passedTests;
  if (nature?.is === 'repeated') return short ? words.repeatedShort : `${words.repeated}: ${nature.like}`;
  const named = short ? '' : goal();
  return named === '' ? words.offFocus : `${words.offFocus}: ${named}`;
}
