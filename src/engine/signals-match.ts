import type { GoalTerm } from './goal-terms.ts';
import { matchLines, unitScale, weighWords } from './relevance.ts';
import type { TakeSignal } from './signals.ts';
import type { View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Where the goal's words stand, as the measures of blocks and of the whole text need it. */
export interface MatchMeasures {
  /** Score of each line alone. */
  readonly raw: Float64Array;
  /** What each word is worth to the goal, by word id. */
  readonly weight: Float64Array;
  /** The most of what the text has of the goal that stands together at one place, 0..1. */
  readonly together: number;
}

/** Measures how much of the goal stands at each line and near it. */
export function measureMatches(
  view: View,
  words: Vocabulary,
  terms: readonly GoalTerm[],
  take: TakeSignal,
): MatchMeasures {
  const weight = weighWords(view, words, terms);
  const raw = matchLines(view, words, weight);
  const [cover3, cover10, cover40] = covers(view, words, weight);
  let all = 0;
  for (const w of weight) all += w;
  const share = all === 0 ? cover10.slice() : cover10.map((c) => c / all);
  let together = 0;
  for (const s of share) if (s > together) together = s;
  take('raw', unitScale(raw.slice()));
  take('cover3', unitScale(cover3));
  take('cover10', unitScale(cover10));
  take('cover40', unitScale(cover40));
  take('share', share);
  return { raw, weight, together };
}

const REACHES = [3, 10, 40] as const;
const FARTHEST = 240;
/** Beyond so many times its reach nothing of a word is left. */
const NEGLIGIBLE = 6;
/** Only the heaviest of the goal's words: the rest says little and costs as much. */
const MOST_WORDS = 30;
const FADES = REACHES.map((reach) => Float64Array.from({ length: FARTHEST }, (_, d) => Math.exp(-d / reach)));

/**
 * How much of the goal stands around each line: every word counts once, by the nearest line that holds it, fading with
 * the distance. So ten mentions of one word do not outweigh one of each of three.
 */
function covers(view: View, words: Vocabulary, weight: Float64Array): [Float64Array, Float64Array, Float64Array] {
  const { n } = view;
  const out: [Float64Array, Float64Array, Float64Array] = [
    new Float64Array(n),
    new Float64Array(n),
    new Float64Array(n),
  ];
  const wanted: number[] = [];
  for (let id = 0; id < weight.length; id++) if ((weight[id] ?? 0) > 0) wanted.push(id);
  wanted.sort((a, b) => (weight[b] ?? 0) - (weight[a] ?? 0) || a - b);
  wanted.length = Math.min(wanted.length, MOST_WORDS);
  const places = new Map(wanted.map((id): [number, number[]] => [id, []]));
  for (let i = 0; i < n; i++) {
    for (let k = words.first[i] ?? 0; k < (words.first[i + 1] ?? 0); k++) {
      const id = words.ids[k] ?? 0;
      if ((weight[id] ?? 0) === 0) continue;
      const at = places.get(id);
      if (at !== undefined && at.at(-1) !== i) at.push(i);
    }
  }
  for (const [id, at] of places) addFading(out, at, weight[id] ?? 0, n);
  return out;
}

/** Adds one word's share to all lines that have it near; `at` are the lines that hold it, ascending. */
function addFading(out: readonly Float64Array[], at: readonly number[], worth: number, n: number): void {
  for (let k = 0; k < at.length; k++) {
    const line = at[k] ?? 0;
    const before = at[k - 1] ?? line - 2 * FARTHEST;
    const after = at[k + 1] ?? line + 2 * FARTHEST;
    const from = Math.max(0, line - FARTHEST + 1, (before + line + 2) >> 1);
    const to = Math.min(n, line + FARTHEST, (line + after + 2) >> 1);
    for (let r = 0; r < REACHES.length; r++) {
      const column = out[r];
      const fade = FADES[r];
      if (column === undefined || fade === undefined) continue;
      const reach = NEGLIGIBLE * (REACHES[r] ?? 0);
      const first = Math.max(from, line - reach);
      const last = Math.min(to, line + reach + 1);
      for (let i = first; i < line && i < last; i++) column[i] = (column[i] ?? 0) + worth * (fade[line - i] ?? 0);
      for (let i = line; i < last; i++) column[i] = (column[i] ?? 0) + worth * (fade[i - line] ?? 0);
    }
  }
}
