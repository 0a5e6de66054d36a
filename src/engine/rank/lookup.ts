import type { GoalMatch } from '../goal/matching.ts';
import { AT, DOT, isDigit, isLetter, QUOTE } from '../text/chars.ts';
import type { Templates } from '../text/templates.ts';
import type { Units, View } from '../text/view.ts';
import { columnOf, spread, unitScale } from './measures.ts';

interface Ranked {
  readonly view: View;
  readonly units: Units;
  readonly templates: Templates;
  readonly match: GoalMatch;
}

interface EntryRanking {
  /**
   * Share of the value that is spread evenly, because a look-up may search for something that the goal does not
   * mention.
   */
  readonly evenShare: number;
  /** Whether entries have parent entries that should be kept with them. */
  readonly inTree: boolean;
}

/** The share of the value of rows, elements and names that is spread evenly. Set by hand. */
export const EVEN_SHARE = 0.3;
/** Exponent that favours the best entries, and share of an entry's value that its parents get. Set by hand. */
const SHARPNESS = 3;
const LIFT = 0.8;
/** The extra value of the first entry of a shape, and the number of entries over which it fades to 1/e. Set by hand. */
const FIRST_WORTH = 2;
const FADES_IN = 20;
/** Number of entries after which the extra value vanishes in double precision: `2 * exp(-40)`. */
const FADED = 40 * FADES_IN;
/**
 * For hunks: lines over which a match fades, lines added to a hunk's length to avoid favouring short ones, and the
 * exponent that favours the best. Set by hand.
 */
const HUNK = { reach: 8, smooth: 8, sharpness: 2.5 };
/** Maximum depth; deeper indentation is clamped. Set by hand. */
const MAX_DEPTH = 64;

/** Ranks entries (rows, file names, elements, hits) independently, by the goal words in each. */
export function rankEntries(
  { view, units, templates: { shape, count }, match: { raw } }: Ranked,
  { evenShare, inTree }: EntryRanking,
): Float64Array {
  const n = view.n;
  const best = new Float64Array(units.count);
  const size = new Float64Array(units.count);
  for (let i = 0; i < n; i++) {
    const u = units.unit[i] ?? 0;
    best[u] = Math.max(best[u] ?? 0, raw[i] ?? 0);
    size[u] = (size[u] ?? 0) + 1;
  }
  const share = best.map((one, u) => (one === 0 ? 0 : one ** SHARPNESS / (size[u] ?? 1)));
  const sharp = columnOf(n, (i) => share[units.unit[i] ?? 0] ?? 0);
  if (inTree) liftAncestors(view, sharp);
  const out = new Float64Array(n);
  let sum = 0;
  let information = 0;
  for (let i = 0; i < n; i++) {
    sum += sharp[i] ?? 0;
    const seen = count[shape[i] ?? 0] ?? 1;
    out[i] = (1 / Math.sqrt(seen)) * (i < FADED ? 1 + FIRST_WORTH * Math.exp(-i / FADES_IN) : 1);
    information += out[i] ?? 0;
  }
  const even = sum === 0 ? 1 : evenShare;
  for (let i = 0; i < n; i++) {
    out[i] = (even * (out[i] ?? 0)) / information + (sum === 0 ? 0 : ((1 - even) * (sharp[i] ?? 0)) / sum);
  }
  return out;
}

/** Gives the folders above an entry most of its value (`LIFT`), because they show its location. */
function liftAncestors(view: View, worth: Float64Array): void {
  const below = new Float64Array(MAX_DEPTH);
  let deepest = 0;
  for (let i = view.n - 1; i >= 0; i--) {
    const depth = depthOf(view, i);
    let most = 0;
    for (; deepest > depth; deepest--) {
      most = Math.max(most, below[deepest] ?? 0);
      below[deepest] = 0;
    }
    deepest = depth;
    worth[i] = Math.max(worth[i] ?? 0, LIFT * most);
    below[depth] = Math.max(below[depth] ?? 0, worth[i] ?? 0);
  }
}

/** Columns before the first letter, digit, quote, `@` or dot. Box-drawing characters of trees count as columns. */
function depthOf(view: View, i: number): number {
  const from = view.from[i] ?? 0;
  const to = Math.min(view.to[i] ?? 0, from + MAX_DEPTH - 1);
  for (let at = from; at < to; at++) {
    const code = view.text.charCodeAt(at);
    if (isLetter(code) || isDigit(code) || code === QUOTE || code === AT || code === DOT) return at - from;
  }
  return to - from;
}

/** Ranks hunks by the goal's words in them and near them. */
export function rankHunks({ view, units, match: { raw } }: Ranked): Float64Array {
  const near = unitScale(spread(raw, HUNK.reach));
  const sum = new Float64Array(units.count);
  const size = new Float64Array(units.count);
  for (let i = 0; i < view.n; i++) {
    const u = units.unit[i] ?? 0;
    sum[u] = (sum[u] ?? 0) + (raw[i] ?? 0);
    size[u] = (size[u] ?? 0) + 1;
  }
  const block = unitScale(sum.map((s, u) => s / Math.sqrt((size[u] ?? 0) + HUNK.smooth)));
  return columnOf(view.n, (i) => Math.exp(HUNK.sharpness * ((near[i] ?? 0) + (block[units.unit[i] ?? 0] ?? 0))));
}
