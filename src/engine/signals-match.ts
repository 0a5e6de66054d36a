import type { GoalTerm } from './goal-terms.ts';
import { matchLines, ranksOf, spread, unitScale, weighWords } from './relevance.ts';
import type { TakeSignal } from './signals.ts';
import type { View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Where the goal's words stand, as the measures of blocks need it. */
export interface MatchMeasures {
  /** Score of each line alone. */
  readonly raw: Float64Array;
  /** The same smoothed over about two lines, at most 1. */
  readonly close: Float64Array;
  /** What each word is worth to the goal, by word id. */
  readonly weight: Float64Array;
}

/** Measures how near each line is to the goal's words, over several distances. */
export function measureMatches(
  view: View,
  words: Vocabulary,
  terms: readonly GoalTerm[],
  take: TakeSignal,
): MatchMeasures {
  const weight = weighWords(view, words, terms);
  const raw = matchLines(view, words, weight);
  const close = unitScale(spread(raw, 2));
  const near20 = unitScale(spread(raw, 20));
  take('raw', unitScale(raw.slice()));
  take('near2', close);
  take('near6', unitScale(spread(raw, 6)));
  take('near20', near20);
  take('near60', unitScale(spread(raw, 60)));
  take('rank', ranksOf(near20));
  take('phrase', phrases(view, words, weight));
  return { raw, close, weight };
}

/** Words of the goal that stand side by side say more than apart. */
function phrases(view: View, words: Vocabulary, weight: Float64Array): Float64Array {
  const out = new Float64Array(view.n);
  for (let i = 0; i < view.n; i++) {
    let previous = 0;
    let sum = 0;
    for (let k = words.first[i] ?? 0; k < (words.first[i + 1] ?? 0); k++) {
      const w = weight[words.ids[k] ?? 0] ?? 0;
      sum += Math.min(previous, w);
      previous = w;
    }
    out[i] = sum;
  }
  return unitScale(out);
}
