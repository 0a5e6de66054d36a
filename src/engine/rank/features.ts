import type { GoalMatch } from '../goal/matching.ts';
import type { GoalTerm } from '../goal/terms.ts';
import type { Vocabulary } from '../goal/vocabulary.ts';
import type { Templates } from '../text/templates.ts';
import type { Units, View } from '../text/view.ts';
import { measureBlocks } from './block-features.ts';
import { largestOf, type Measure, measure, sumOf, unitScale } from './measures.ts';
import { measureShapes } from './shape-features.ts';

export interface Measured {
  readonly view: View;
  readonly units: Units;
  readonly templates: Templates;
  readonly words: Vocabulary;
  readonly terms: readonly GoalTerm[];
  readonly match: GoalMatch;
}

/** Facts about a whole text and its goal, each about 0..1, which determine how reliable the features are. */
export type Circumstances = Readonly<Record<'found' | 'together' | 'length' | 'blocks' | 'terms', number>>;

/** All features of a text, and the facts on which their weights depend. */
interface LineMeasures {
  readonly measures: readonly Measure[];
  readonly circumstances: Circumstances;
}

/**
 * A text with more than `MANY_LINES` lines, shorter than `SHORT_LINE_CHARS` on average, is nearly empty. Set by hand.
 */
const MANY_LINES = 20_000;
const SHORT_LINE_CHARS = 10;

/** Whether a text consists of very many nearly empty lines. Such texts are not measured, to limit the cost. */
function isNearlyEmpty({ n, text }: View): boolean {
  return n > MANY_LINES && text.length < n * SHORT_LINE_CHARS;
}

/**
 * Logarithms of large numbers of lines (3,000), blocks (3,000) and terms (150). Set by hand; the weights were fitted to
 * them.
 */
const MANY = { lines: 8, blocks: 8, terms: 5 };

/** Measures features that may distinguish needed lines of code or prose. Names are the keys of `CODE_WEIGHTS`. */
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
    terms: Math.min(1, Math.log1p(terms.length) / MANY.terms),
  };
  return { measures, circumstances };
}

/**
 * Measures the share of the goal that occurs at each line and near it.
 *
 * @returns the features; `together` is the largest share of goal words around any line, 0..1
 */
function measureMatches(
  view: View,
  words: Vocabulary,
  match: GoalMatch,
): { readonly measures: Measure[]; readonly together: number } {
  const [cover3, cover10, cover40] = covers(view, words, match);
  const share = sharesOf(cover10, sumOf(match.weight));
  const together = largestOf(share);
  const measures = [
    measure('raw', unitScale(match.raw.slice())),
    measure('cover3', unitScale(cover3)),
    measure('cover10', unitScale(cover10)),
    measure('cover40', unitScale(cover40)),
    measure('share', share),
  ];
  return { measures, together };
}

function sharesOf(values: Float64Array, all: number): Float64Array {
  const out = values.slice();
  if (all !== 0) for (let i = 0; i < out.length; i++) out[i] = (out[i] ?? 0) / all;
  return out;
}

/** Distances in lines over which a goal word fades. Set by hand; the weights were fitted to them. */
const REACHES = [3, 10, 40] as const;
const FARTHEST = 240;
/** Beyond this multiple of the distance, a word is ignored, since only .0025 of its weight is left. Set by hand. */
const NEGLIGIBLE = 6;
/** Maximum number of measured goal words, heaviest first; further ones add little at the same cost. Set by hand. */
const MOST_WORDS = 30;
const NO_FADE = new Float64Array(0);
const FADES = REACHES.map((reach) => Float64Array.from({ length: FARTHEST }, (_, d) => Math.exp(-d / reach)));

/**
 * The share of the goal around each line. Each word counts once, by its nearest line, fading with distance, so that ten
 * mentions of one word do not outweigh single mentions of three.
 */
function covers({ n }: View, { ids }: Vocabulary, match: GoalMatch): [Float64Array, Float64Array, Float64Array] {
  const { weight } = match;
  const out: [Float64Array, Float64Array, Float64Array] = [
    new Float64Array(n),
    new Float64Array(n),
    new Float64Array(n),
  ];
  const wanted = heaviest(weight);
  const places = placesOf(n, ids, wanted, match);
  for (let k = 0; k < wanted.length; k++) {
    for (let r = 0; r < REACHES.length; r++) {
      addFading(
        out[r as 0 | 1 | 2],
        places[k] ?? [],
        weight[wanted[k] ?? 0] ?? 0,
        REACHES[r] ?? 0,
        FADES[r] ?? NO_FADE,
      );
    }
  }
  return out;
}

/** The words with the highest weights, in descending order. */
function heaviest(weight: Float64Array): number[] {
  const wanted: number[] = [];
  for (let id = 0; id < weight.length; id++) if (weight[id] !== 0) wanted.push(id);
  wanted.sort((a, b) => (weight[b] ?? 0) - (weight[a] ?? 0) || a - b);
  return wanted.slice(0, MOST_WORDS);
}

/** Lines with each of these words, ascending. */
function placesOf(
  n: number,
  ids: Int32Array,
  wanted: readonly number[],
  { weight, hits, first }: GoalMatch,
): number[][] {
  const places: number[][] = [];
  const placeOf = new Int8Array(weight.length).fill(-1);
  for (let k = 0; k < wanted.length; k++) {
    places.push([]);
    placeOf[wanted[k] ?? 0] = k;
  }
  for (let i = 0; i < n; i++) {
    const end = first[i + 1] ?? 0;
    for (let h = first[i] ?? 0; h < end; h++) {
      const place = placeOf[ids[hits[h] ?? 0] ?? 0] ?? -1;
      const lines = place < 0 ? undefined : places[place];
      if (lines !== undefined && lines[lines.length - 1] !== i) lines.push(i);
    }
  }
  return places;
}

/**
 * Adds one word's share to all lines near it.
 *
 * @param at - the lines with the word, ascending
 */
function addFading(
  column: Float64Array,
  at: readonly number[],
  worth: number,
  reach: number,
  fade: Float64Array,
): void {
  const n = column.length;
  const reached = NEGLIGIBLE * reach;
  for (let k = 0; k < at.length; k++) {
    const line = at[k] ?? 0;
    const before = k > 0 ? (at[k - 1] ?? 0) : line - 2 * FARTHEST;
    const after = k + 1 < at.length ? (at[k + 1] ?? 0) : line + 2 * FARTHEST;
    const from = Math.max(0, line - FARTHEST + 1, (before + line + 2) >> 1, line - reached);
    const to = Math.min(n, line + FARTHEST, (line + after + 2) >> 1, line + reached + 1);
    for (let i = from; i < line && i < to; i++) column[i] = (column[i] ?? 0) + worth * (fade[line - i] ?? 0);
    for (let i = line; i < to; i++) column[i] = (column[i] ?? 0) + worth * (fade[i - line] ?? 0);
  }
}
