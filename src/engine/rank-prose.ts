import type { GoalTerm } from './goal-terms.ts';
import { LEARNED, soften } from './learned.ts';
import { measureLines } from './signals.ts';
import type { Units } from './units.ts';
import type { View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Ranks lines of code or prose by the learned model over what is measured of each line. */
export function rankProse(
  view: View,
  family: 'code' | 'docs',
  units: Units,
  words: Vocabulary,
  terms: readonly GoalTerm[],
): Float64Array {
  const scores = new Float64Array(view.n);
  measureLines(view, units, words, terms, (name, byLine) => {
    const weight = LEARNED[family][name] ?? 0;
    if (weight === 0) return;
    for (let i = 0; i < scores.length; i++) scores[i] = (scores[i] ?? 0) + weight * (byLine[i] ?? 0);
  });
  return soften(scores);
}
