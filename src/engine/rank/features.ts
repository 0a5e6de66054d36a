import type { GoalMatch } from '../goal/matching.ts';
import type { GoalTerm } from '../goal/terms.ts';
import type { Vocabulary } from '../goal/vocabulary.ts';
import type { Templates } from '../text/templates.ts';
import type { Units } from '../text/units.ts';
import type { View } from '../text/view.ts';
import { measureBlocks } from './block-features.ts';
import { measureMatches } from './match-features.ts';
import type { Measure } from './measures.ts';
import { measureShapes } from './shape-features.ts';

/** The input of the measures. */
export interface Measured {
  readonly view: View;
  readonly units: Units;
  readonly templates: Templates;
  readonly words: Vocabulary;
  readonly terms: readonly GoalTerm[];
  readonly match: GoalMatch;
}

/** Facts about a whole text and its goal, each about 0..1. They decide how far the measures can be relied on. */
export type Circumstances = Readonly<Record<'found' | 'together' | 'length' | 'blocks' | 'asked', number>>;

/** All measures of a text, and the facts on which their weights depend. */
export interface LineMeasures {
  readonly measures: readonly Measure[];
  readonly circumstances: Circumstances;
}

/** A text with more and shorter lines than these is nearly empty. Chosen: far from anything that is written. */
const MANY_LINES = 20_000;
const SHORT_LINE_CHARS = 10;

/** Whether a text consists of very many nearly empty lines. Such a text is not measured, to bound its cost. */
function isNearlyEmpty({ n, text }: View): boolean {
  return n > MANY_LINES && text.length < n * SHORT_LINE_CHARS;
}

/**
 * Logarithms of many lines (3,000), many blocks (3,000) and many terms (150). Chosen; the weights were fitted with
 * them.
 */
const MANY = { lines: 8, blocks: 8, terms: 5 };

/** Measures features that may separate needed lines of code or prose from others. The names are those of `CODE_WEIGHTS`. */
export function measureLines({ view, units, templates, words, terms, match }: Measured): LineMeasures {
  const matches = measureMatches(view, words, match);
  const measures = isNearlyEmpty(view)
    ? matches.measures
    : [
        ...matches.measures,
        ...measureBlocks(view, units, words, terms, match),
        ...measureShapes(view, units, templates, words),
      ];
  let wanted = 0;
  let found = 0;
  for (const { hash, weight } of terms) {
    wanted += weight;
    if (words.find(hash) >= 0) found += weight;
  }
  const circumstances = {
    found: wanted === 0 ? 0 : found / wanted,
    together: matches.together,
    length: Math.min(1, Math.log1p(view.n) / MANY.lines),
    blocks: Math.min(1, Math.log1p(units.count) / MANY.blocks),
    asked: Math.min(1, Math.log1p(terms.length) / MANY.terms),
  };
  return { measures, circumstances };
}
