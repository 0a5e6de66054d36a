import type { GoalTerm } from './goal-terms.ts';
import { measureBlocks } from './signals-block.ts';
import { measureMatches } from './signals-match.ts';
import { measureShapes } from './signals-shape.ts';
import type { Units } from './units.ts';
import type { View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Takes one measure of all lines: its name, and a number for each line, mostly 0..1. */
export type TakeSignal = (name: string, byLine: ArrayLike<number>) => void;

/** Measures what may tell needed lines of code or prose from others. The names are those of `LEARNED`. */
export function measureLines(
  view: View,
  units: Units,
  words: Vocabulary,
  terms: readonly GoalTerm[],
  take: TakeSignal,
): void {
  const matches = measureMatches(view, words, terms, take);
  measureBlocks(view, units, words, matches, take);
  measureShapes(view, units, words, take);
}
