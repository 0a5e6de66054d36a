import { declaredName } from './declarations.ts';
import type { GoalTerm } from './goal-terms.ts';
import { columnOf, unitScale } from './relevance.ts';
import type { TakeSignal } from './signals.ts';
import type { MatchMeasures } from './signals-match.ts';
import type { Units } from './units.ts';
import { contentOf, type View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';
import { wordHash } from './words.ts';

/** Measures what the block around a line says of it: its own matches, its head's, its parent's, its company's. */
export function measureBlocks(
  view: View,
  units: Units,
  words: Vocabulary,
  terms: readonly GoalTerm[],
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
  const { unit } = units;
  // lent to `take`, which is done with it when it returns
  const lent = new Float64Array(view.n);
  const ofLines = (values: Float64Array): Float64Array => {
    for (let i = 0; i < lent.length; i++) lent[i] = values[unit[i] ?? 0] ?? 0;
    return lent;
  };
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
  take('parent', ofLines(columnOf(units.count, (u) => at(block, units.parent[u] ?? -1))));
  take('unitCover', ofLines(coverage(view, units, words, matches.weight)));
  take('head', ofLines(heads(view, units, words, matches.weight)));
  take('named', ofLines(namesakes(view, units, terms)));
  take('beside', ofLines(columnOf(units.count, (u) => Math.max(at(block, u - 1), at(block, u + 1)))));
  const large = columnOf(units.count, (u) => Math.log1p(size[u] ?? 0) / 6);
  take('unitSize', ofLines(large));
  take('unitMass', ofLines(columnOf(units.count, (u) => (block[u] ?? 0) * (large[u] ?? 0))));
}

/** A number of a list, 0 beyond its ends (asked there, an array answers many times slower). */
function at(values: Float64Array, k: number): number {
  return k >= 0 && k < values.length ? (values[k] ?? 0) : 0;
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

const HEAD_CHARS = 200;

/** Blocks that declare a name that the goal spells out: 1, or less where several do. */
export function namesakes(view: View, units: Units, terms: readonly GoalTerm[]): Float64Array {
  const wanted = new Map<number, number>();
  for (const { hash, whole } of terms) if (whole) wanted.set(hash, 0);
  const found = new Int32Array(units.count);
  const out = new Float64Array(units.count);
  if (wanted.size === 0) return out;
  for (let i = 0; i < view.n; i++) {
    const u = units.unit[i] ?? 0;
    if (units.head[i] === 0 || found[u] !== 0) continue;
    const hash = wordHash(declaredName(contentOf(view, i, HEAD_CHARS)));
    const seen = wanted.get(hash);
    if (seen === undefined) continue;
    found[u] = hash;
    wanted.set(hash, seen + 1);
  }
  for (let u = 0; u < units.count; u++) {
    if (found[u] !== 0) out[u] = 1 / Math.sqrt(wanted.get(found[u] ?? 0) ?? 1);
  }
  return out;
}
