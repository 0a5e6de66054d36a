import type { GoalTerm } from './goal-terms.ts';
import type { View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';

const K1 = 1.2;
const B = 0.4;

/** What each word of a text is worth to the goal, by word id; 0 for words that it does not ask for. */
export function weighWords(view: View, words: Vocabulary, terms: readonly GoalTerm[]): Float64Array {
  const weight = new Float64Array(words.size);
  const idf = (id: number): number => {
    const lines = words.lineCount[id] ?? 0;
    return Math.log(1 + (view.n - lines + 0.5) / (lines + 0.5));
  };
  for (const term of terms) {
    const id = words.find(term.hash);
    if (id >= 0) weight[id] = term.weight * idf(id);
  }
  const byStart = new Map<number, GoalTerm[]>();
  for (const term of terms) {
    if (term.word.length < STEM_CHARS) continue;
    const key = startKey(term.word, 0);
    const list = byStart.get(key);
    if (list === undefined) byStart.set(key, [term]);
    else list.push(term);
  }
  if (byStart.size === 0) return weight;
  for (let id = 0; id < words.size; id++) {
    const start = words.start[id] ?? 0;
    const length = (words.end[id] ?? 0) - start;
    if (weight[id] !== 0 || length < STEM_CHARS) continue;
    for (const term of byStart.get(startKey(view.text, start)) ?? []) {
      const kinship = related(view.text, start, length, term.word);
      if (kinship > 0) weight[id] = Math.max(weight[id] ?? 0, kinship * term.weight * idf(id));
    }
  }
  return weight;
}

const STEM_CHARS = 4;
const KINSHIP = 0.4;

/** The first letters of a word as one number, case aside. */
function startKey(text: string, start: number): number {
  let key = 0;
  for (let i = 0; i < STEM_CHARS; i++) key = Math.imul(key, 8191) + (text.charCodeAt(start + i) | 32);
  return key;
}

/** How far two words that begin alike may mean the same (`tree` and `treeify`, `paginate` and `pagination`). */
function related(text: string, start: number, length: number, word: string): number {
  const most = Math.min(length, word.length);
  let common = 0;
  while (common < most && (text.charCodeAt(start + common) | 32) === (word.charCodeAt(common) | 32)) common++;
  if (common === word.length || (common === length && length > STEM_CHARS)) return KINSHIP;
  return common > STEM_CHARS && common >= 0.6 * Math.max(length, word.length) ? KINSHIP : 0;
}

/** BM25 of each line alone; `weight` as `weighWords` gives it. */
export function matchLines(view: View, words: Vocabulary, weight: Float64Array): Float64Array {
  const raw = new Float64Array(view.n);
  const average = words.ids.length === 0 ? 1 : Math.max(1, (words.first[view.n] ?? 0) / Math.max(1, view.n));
  for (let i = 0; i < view.n; i++) {
    const start = words.first[i] ?? 0;
    const end = words.first[i + 1] ?? 0;
    let sum = 0;
    const norm = K1 * (1 - B + (B * Math.min(end - start, 60)) / average);
    for (let k = start; k < end; k++) {
      const w = weight[words.ids[k] ?? 0] ?? 0;
      if (w > 0 && !repeated(words.ids, start, k)) sum += (w * (K1 + 1)) / (1 + norm);
    }
    raw[i] = sum;
  }
  return raw;
}

function repeated(ids: Int32Array, start: number, k: number): boolean {
  for (let j = Math.max(start, k - 40); j < k; j++) if (ids[j] === ids[k]) return true;
  return false;
}

/** Sum over all lines, each fading by `exp(-distance / reach)`; two passes, linear. */
export function spread(values: Float64Array, reach: number): Float64Array {
  const n = values.length;
  const out = new Float64Array(n);
  const fade = Math.exp(-1 / reach);
  let carry = 0;
  for (let i = 0; i < n; i++) {
    carry = carry * fade + (values[i] ?? 0);
    out[i] = carry;
  }
  carry = 0;
  for (let i = n - 1; i >= 0; i--) {
    out[i] = (out[i] ?? 0) + carry;
    carry = (carry + (values[i] ?? 0)) * fade;
  }
  return out;
}

/** Scales so that the largest is 1. */
export function unitScale(values: Float64Array): Float64Array {
  let most = 0;
  for (const v of values) if (v > most) most = v;
  if (most > 0) for (let i = 0; i < values.length; i++) values[i] = (values[i] ?? 0) / most;
  return values;
}

/** One number for each of `n` lines (a loop: `Float64Array.from` with a mapper is many times slower). */
export function columnOf(n: number, of: (i: number) => number): Float64Array {
  const out = new Float64Array(n);
  for (let i = 0; i < n; i++) out[i] = of(i);
  return out;
}
