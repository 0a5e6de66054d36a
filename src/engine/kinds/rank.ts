import { sumOf } from '../goal/matching.ts';
import { rankDiff, rankLookup } from '../rank/lookup.ts';
import { rankProse } from '../rank/prose.ts';
import type { Reading } from '../reading.ts';
import { rankLog } from './log/rank.ts';

/** What each line is worth to the goal. */
export interface Ranking {
  /** The share of all that the goal needs which a line is thought to hold; the shares of a text sum to 1. */
  readonly value: Float64Array;
  /** Whether the goal had a word in common with the text. */
  readonly goalHit: boolean;
}

/** Ranks all lines against the goal, by the nature of the kind. */
export function rankLines(reading: Reading): Ranking {
  const { terms, words } = reading;
  const goalHit = terms.some((term) => words.find(term.hash) >= 0);
  const value = rankByFamily(reading);
  divide(value, sumOf(value));
  return { value, goalHit };
}

function divide(values: Float64Array, by: number): void {
  if (by > 0) for (let i = 0; i < values.length; i++) values[i] = (values[i] ?? 0) / by;
}

function rankByFamily(reading: Reading): Float64Array {
  const { view, kind, units, templates, match } = reading;
  switch (kind.family) {
    case 'code':
    case 'docs':
      return rankProse(reading, kind.family);
    case 'log':
      return rankLog(reading);
    case 'diff':
      return rankDiff(view, units, match.raw);
    default:
      return rankLookup(view, kind.family, units, templates, match.raw);
  }
}
