import { columnOf, ranksOf, spread, unitScale } from './relevance.ts';
import type { TakeSignal } from './signals.ts';
import type { MatchMeasures } from './signals-match.ts';
import type { Units } from './units.ts';
import type { View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Measures what the block around a line says of it: its own matches, its head's, its parent's, its company's. */
export function measureBlocks(
  view: View,
  units: Units,
  words: Vocabulary,
  matches: MatchMeasures,
  take: TakeSignal,
): void {
  const { raw } = matches;
  const size = new Float64Array(units.count);
  const best = new Float64Array(units.count);
  for (let i = 0; i < view.n; i++) {
    const u = units.unit[i] ?? 0;
    size[u] = (size[u] ?? 0) + 1;
    if ((raw[i] ?? 0) > (best[u] ?? 0)) best[u] = raw[i] ?? 0;
  }
  const ofLines = (values: ArrayLike<number>): Float64Array => columnOf(view.n, (i) => values[units.unit[i] ?? 0] ?? 0);
  const ofBlocks = (byLine: Float64Array): Float64Array => {
    const sum = new Float64Array(units.count);
    for (let i = 0; i < view.n; i++) {
      const u = units.unit[i] ?? 0;
      sum[u] = (sum[u] ?? 0) + (byLine[i] ?? 0);
    }
    for (let u = 0; u < units.count; u++) sum[u] = (sum[u] ?? 0) / Math.sqrt((size[u] ?? 0) + 8);
    return unitScale(sum);
  };
  const block = ofBlocks(raw);
  take('unit', ofLines(block));
  take('unitBest', ofLines(unitScale(best)));
  take('unitRank', ofLines(ranksOf(block)));
  take('parent', ofLines(Float64Array.from(units.parent, (p) => (p < 0 ? 0 : (block[p] ?? 0)))));
  take('unitCover', ofLines(coverage(view, units, words, matches.weight)));
  take('head', ofLines(heads(view, units, words, matches.weight)));
  const kin = company(view, words, matches);
  take('kin', unitScale(spread(kin, 6)));
  take('kinUnit', ofLines(ofBlocks(kin)));
  take('unitSize', ofLines(size.map((s) => Math.log1p(s) / 6)));
}

/** How much of all that the goal asks for occurs in each block. */
function coverage(view: View, units: Units, words: Vocabulary, weight: Float64Array): Float64Array {
  const out = new Float64Array(units.count);
  const seen = new Int32Array(words.size).fill(-1);
  let all = 0;
  for (const w of weight) all += w;
  if (all === 0) return out;
  for (let i = 0; i < view.n; i++) {
    const u = units.unit[i] ?? 0;
    for (let k = words.first[i] ?? 0; k < (words.first[i + 1] ?? 0); k++) {
      const id = words.ids[k] ?? 0;
      if ((weight[id] ?? 0) === 0 || seen[id] === u) continue;
      seen[id] = u;
      out[u] = (out[u] ?? 0) + (weight[id] ?? 0) / all;
    }
  }
  return out;
}

/** How much of the goal stands in the line that opens each block (a function's name, a section's heading). */
function heads(view: View, units: Units, words: Vocabulary, weight: Float64Array): Float64Array {
  const out = new Float64Array(units.count);
  for (let i = 0; i < view.n; i++) {
    if (units.head[i] === 0) continue;
    let sum = 0;
    for (let k = words.first[i] ?? 0; k < (words.first[i + 1] ?? 0); k++) sum += weight[words.ids[k] ?? 0] ?? 0;
    const u = units.unit[i] ?? 0;
    if (sum > (out[u] ?? 0)) out[u] = sum;
  }
  return unitScale(out);
}

const CLOSE_ENOUGH = 0.05;

/** Lines whose words keep company with the goal's elsewhere in the text. */
function company(view: View, words: Vocabulary, { close, weight }: MatchMeasures): Float64Array {
  const kinship = new Float64Array(words.size);
  for (let i = 0; i < view.n; i++) {
    const c = close[i] ?? 0;
    if (c < CLOSE_ENOUGH) continue;
    for (let k = words.first[i] ?? 0; k < (words.first[i + 1] ?? 0); k++) {
      const id = words.ids[k] ?? 0;
      kinship[id] = (kinship[id] ?? 0) + c;
    }
  }
  for (let id = 0; id < words.size; id++) {
    const lines = words.lineCount[id] ?? 1;
    const known = (weight[id] ?? 0) > 0 || lines < 2;
    kinship[id] = known ? 0 : ((kinship[id] ?? 0) / (lines + 2)) * Math.log(1 + view.n / (lines + 0.5));
  }
  return columnOf(view.n, (i) => {
    const from = words.first[i] ?? 0;
    const to = words.first[i + 1] ?? 0;
    let sum = 0;
    for (let k = from; k < to; k++) sum += kinship[words.ids[k] ?? 0] ?? 0;
    return sum / Math.sqrt(to - from + 3);
  });
}
