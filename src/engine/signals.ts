import type { GoalTerm } from './goal-terms.ts';
import { measureBlocks } from './signals-block.ts';
import { measureMatches } from './signals-match.ts';
import { measureShapes } from './signals-shape.ts';
import type { Templates } from './templates.ts';
import type { Units } from './units.ts';
import type { View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Takes one measure of all lines: its name, and a number for each line, mostly 0..1. */
export type TakeSignal = (name: string, byLine: ArrayLike<number>) => void;

/** What the measures are taken from. */
export interface Measured {
  readonly view: View;
  readonly units: Units;
  readonly templates: Templates;
  readonly words: Vocabulary;
  readonly terms: readonly GoalTerm[];
}

/** Facts of a text as a whole and its goal, by name, each about 0..1: how far its measures can be relied on. */
export type Circumstances = Readonly<Record<'found' | 'together' | 'length' | 'blocks' | 'asked', number>>;

/**
 * Measures what may tell needed lines of code or prose from others. The names are those of `LEARNED`.
 *
 * @returns what the weights of the measures depend on
 */
export function measureLines({ view, units, templates, words, terms }: Measured, take: TakeSignal): Circumstances {
  const matches = measureMatches(view, words, terms, take);
  measureBlocks(view, units, words, terms, matches, take);
  measureShapes(view, units, templates, words, take);
  let wanted = 0;
  let found = 0;
  for (const { hash, weight } of terms) {
    wanted += weight;
    if (words.find(hash) >= 0) found += weight;
  }
  return {
    found: wanted === 0 ? 0 : found / wanted,
    together: matches.together,
    length: Math.min(1, Math.log1p(view.n) / 8),
    blocks: Math.min(1, Math.log1p(units.count) / 8),
    asked: Math.min(1, Math.log1p(terms.length) / 5),
  };
}
