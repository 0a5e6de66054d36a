import type { GoalTerm } from './goal-terms.ts';
import { measureBlocks } from './signals-block.ts';
import { measureMatches } from './signals-match.ts';
import { measureShapes } from './signals-shape.ts';
import type { Templates } from './templates.ts';
import type { Units } from './units.ts';
import type { View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';

/** A measure of all lines: a number for each, mostly 0..1, or a flag for each. */
export type Measure = Float64Array | Uint8Array;

/** Takes one measure of all lines by its name. */
export type TakeSignal = (name: string, byLine: Measure) => void;

/** Adds a measure to sums, each line by the measure's weight. Two loops, since one over both kinds of array is slow. */
export function addMeasure(sums: Float64Array, byLine: Measure, weight: number): void {
  if (byLine instanceof Uint8Array) {
    for (let i = 0; i < sums.length; i++) if (byLine[i] !== 0) sums[i] = (sums[i] ?? 0) + weight * (byLine[i] ?? 0);
  } else addColumn(sums, byLine, weight);
}

function addColumn(sums: Float64Array, column: Float64Array, weight: number): void {
  for (let i = 0; i < sums.length; i++) sums[i] = (sums[i] ?? 0) + weight * (column[i] ?? 0);
}

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

/** No text that anybody wrote or printed is a heap of so many lines of next to nothing; its cost must be bounded. */
function isDust({ n, text }: View): boolean {
  return n > DUST_LINES && text.length < n * DUST_CHARS;
}

const DUST_LINES = 20_000;
const DUST_CHARS = 10;

/**
 * Measures what may tell needed lines of code or prose from others. The names are those of `LEARNED`.
 *
 * @returns what the weights of the measures depend on
 */
export function measureLines({ view, units, templates, words, terms }: Measured, take: TakeSignal): Circumstances {
  const matches = measureMatches(view, words, terms, take);
  if (!isDust(view)) {
    measureBlocks(view, units, words, terms, matches, take);
    measureShapes(view, units, templates, words, take);
  }
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
