import type { GoalMatch } from '../goal/matching.ts';
import type { GoalTerm } from '../goal/terms.ts';
import type { Vocabulary } from '../goal/vocabulary.ts';
import { wordHash } from '../goal/words.ts';
import { contentOf, type Units, type View } from '../text/view.ts';
import { type Measure, measure, unitScale } from './measures.ts';

/** Measures features of the block around a line: matches in the block, its head, its parent and its neighbours. */
export function measureBlocks(
  view: View,
  units: Units,
  words: Vocabulary,
  terms: readonly GoalTerm[],
  match: GoalMatch,
): Measure[] {
  const { unit, count } = units;
  const size = new Float64Array(count);
  const best = new Float64Array(count);
  const block = new Float64Array(count);
  gather(unit, match.raw, size, best, block);
  unitScale(block);
  const parent = new Float64Array(count);
  const beside = new Float64Array(count);
  const large = new Float64Array(count);
  const mass = new Float64Array(count);
  relate(units.parent, size, block, { parent, beside, large, mass });
  return [
    measure('unit', block, unit),
    measure('unitBest', unitScale(best), unit),
    measure('parent', parent, unit),
    measure('unitCover', coverage(view, units, words, match), unit),
    measure('head', heads(view, units, words, match), unit),
    measure('named', namesakes(view, units, terms, match), unit),
    measure('beside', beside, unit),
    measure('unitSize', large, unit),
    measure('unitMass', mass, unit),
  ];
}

/**
 * Added to a block's length to avoid favouring short blocks. Set by hand; the weights were fitted to it, and to the
 * next.
 */
const SMOOTH = 8;
/** Scales the logarithm of a block's number of lines to about 0..1. */
const LARGE = 6;

function gather(
  unit: Int32Array,
  raw: Float64Array,
  size: Float64Array,
  best: Float64Array,
  block: Float64Array,
): void {
  for (let i = 0; i < unit.length; i++) {
    const u = unit[i] ?? 0;
    const match = raw[i] ?? 0;
    size[u] = (size[u] ?? 0) + 1;
    block[u] = (block[u] ?? 0) + match;
    if (match > (best[u] ?? 0)) best[u] = match;
  }
  for (let u = 0; u < block.length; u++) block[u] = (block[u] ?? 0) / Math.sqrt((size[u] ?? 0) + SMOOTH);
}

type Relations = Readonly<Record<'parent' | 'beside' | 'large' | 'mass', Float64Array>>;

function relate(parents: Int32Array, size: Float64Array, block: Float64Array, out: Relations): void {
  const { parent, beside, large, mass } = out;
  for (let u = 0; u < block.length; u++) {
    parent[u] = at(block, parents[u] ?? -1);
    beside[u] = Math.max(at(block, u - 1), at(block, u + 1));
    large[u] = Math.log1p(size[u] ?? 0) / LARGE;
    mass[u] = (block[u] ?? 0) * (large[u] ?? 0);
  }
}

/** Reads a list with 0 outside its bounds (reading outside a typed array is many times slower). */
function at(values: Float64Array, k: number): number {
  return k >= 0 && k < values.length ? (values[k] ?? 0) : 0;
}

/** Weighted share of goal words in each block. */
function coverage({ n }: View, { unit, count }: Units, { ids, size }: Vocabulary, match: GoalMatch): Float64Array {
  const { weight, hits, first } = match;
  const out = new Float64Array(count);
  const seen = new Int32Array(size).fill(-1);
  let all = 0;
  for (const w of weight) all += w;
  if (all === 0) return out;
  for (let i = 0; i < n; i++) {
    const u = unit[i] ?? 0;
    const end = first[i + 1] ?? 0;
    for (let h = first[i] ?? 0; h < end; h++) {
      const id = ids[hits[h] ?? 0] ?? 0;
      if (seen[id] === u) continue;
      seen[id] = u;
      out[u] = (out[u] ?? 0) + (weight[id] ?? 0) / all;
    }
  }
  return out;
}

/** Match of each block's first line (function name, section heading), relative to the best block. */
function heads({ n }: View, { unit, count, head }: Units, { ids }: Vocabulary, match: GoalMatch): Float64Array {
  const { weight, hits, first } = match;
  const out = new Float64Array(count);
  for (let i = 0; i < n; i++) {
    if (head[i] === 0) continue;
    const end = first[i + 1] ?? 0;
    let sum = 0;
    for (let h = first[i] ?? 0; h < end; h++) sum += weight[ids[hits[h] ?? 0] ?? 0] ?? 0;
    const u = unit[i] ?? 0;
    if (sum > (out[u] ?? 0)) out[u] = sum;
  }
  return unitScale(out);
}

/** Number of leading characters of a block's first line searched for its name. Set by hand. */
const HEAD_CHARS = 200;

/** For each block, 1 if it declares a name that the goal spells out, or less if several blocks do. */
export function namesakes(
  view: View,
  units: Units,
  terms: readonly GoalTerm[],
  { first }: Pick<GoalMatch, 'first'>,
): Float64Array {
  const out = new Float64Array(units.count);
  const bearers = new Map<number, number[]>();
  for (const { hash, whole } of terms) if (whole) bearers.set(hash, []);
  if (bearers.size === 0) return out;
  let last = -1;
  for (let i = units.head.indexOf(1); i >= 0; i = units.head.indexOf(1, i + 1)) {
    const u = units.unit[i] ?? 0;
    // a name that the goal spells out is also a hit
    if (u === last || first[i] === first[i + 1]) continue;
    const blocks = bearers.get(wordHash(declaredName(contentOf(view, i, HEAD_CHARS))));
    if (blocks === undefined) continue;
    blocks.push(u);
    last = u; // one name per block; a block's lines are consecutive
  }
  for (const blocks of bearers.values()) for (const u of blocks) out[u] = 1 / Math.sqrt(blocks.length);
  return out;
}

const KEYWORD_NAME =
  /\b(?:class|interface|struct|enum|trait|type|def|fn|fun|func|function|module|namespace|record|union|object|impl|const|let|var)\s{1,4}(?:\([^()]{0,80}\)\s{0,4})?(?:self\.)?([A-Za-z_$][\w$]{0,80})/;
const CALLED_NAME = /([A-Za-z_$][\w$]{0,80})\s?\(/;

/** The name of the function or type that a line declares, or `''`. */
function declaredName(line: string): string {
  return (KEYWORD_NAME.exec(line) ?? CALLED_NAME.exec(line))?.[1] ?? '';
}
