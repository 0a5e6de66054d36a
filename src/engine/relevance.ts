import type { GoalTerm } from './goal-terms.ts';
import type { View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';

/** How well each line matches the goal, word for word. */
export interface Matches {
  /** BM25 of each line alone. */
  readonly raw: Float64Array;
  /** Whether the goal has a word that the text has. */
  readonly any: boolean;
}

const K1 = 1.2;
const B = 0.4;

/** Scores every line against the goal's terms. */
export function matchLines(view: View, words: Vocabulary, terms: readonly GoalTerm[]): Matches {
  const raw = new Float64Array(view.n);
  const weight = new Float64Array(words.size);
  let any = false;
  for (const term of terms) {
    const id = words.find(term.hash);
    if (id < 0) continue;
    const lines = words.lineCount[id] ?? 0;
    weight[id] = term.weight * Math.log(1 + (view.n - lines + 0.5) / (lines + 0.5));
    any = true;
  }
  if (!any) return { raw, any };
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
  return { raw, any };
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
