import type { GoalTerm } from './goal-terms.ts';
import type { Kind } from './kinds.ts';
import { rankLog } from './rank-log.ts';
import { rankDiff, rankLookup } from './rank-lookup.ts';
import { rankProse } from './rank-prose.ts';
import type { Templates } from './templates.ts';
import type { Units } from './units.ts';
import type { View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';

/** What each line is worth to the goal. */
export interface Ranking {
  /** The share of all that the goal needs which a line is thought to hold; the shares of a text sum to 1. */
  readonly value: Float64Array;
  /** Whether the goal had a word in common with the text. */
  readonly goalHit: boolean;
}

/** Ranks all lines against the goal, by the nature of the kind. */
export function rankLines(
  view: View,
  kind: Kind,
  units: Units,
  templates: Templates,
  words: Vocabulary,
  terms: readonly GoalTerm[],
): Ranking {
  const goalHit = terms.some((term) => words.find(term.hash) >= 0);
  const value = rankByFamily();
  let sum = 0;
  for (const v of value) sum += v;
  if (sum > 0) for (let i = 0; i < value.length; i++) value[i] = (value[i] ?? 0) / sum;
  return { value, goalHit };

  function rankByFamily(): Float64Array {
    switch (kind.family) {
      case 'code':
      case 'docs':
        return rankProse({ view, units, templates, words, terms }, kind.family);
      case 'log':
        return rankLog(view, templates, words, terms);
      case 'diff':
        return rankDiff(view, units, words, terms);
      default:
        return rankLookup(view, kind.family, units, templates, words, terms);
    }
  }
}
