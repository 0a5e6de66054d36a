import type { GoalTerm } from './goal-terms.ts';
import type { Kind } from './kinds.ts';
import { matchLines, spread, unitScale } from './relevance.ts';
import { readTemplates } from './templates.ts';
import type { Units } from './units.ts';
import { contentOf, type View } from './view.ts';
import { readVocabulary } from './vocabulary.ts';

/** What each line is worth to the goal; higher stays. */
export interface Ranking {
  readonly value: Float64Array;
  /** Whether the goal had a word in common with the text. */
  readonly goalHit: boolean;
}

/** Ranks all lines against the goal, by the nature of the kind. */
export function rankLines(view: View, kind: Kind, units: Units, terms: readonly GoalTerm[]): Ranking {
  const words = readVocabulary(view);
  const { raw, any } = matchLines(view, words, terms);
  if (kind.family === 'code' || kind.family === 'docs') return { value: rankBlocks(view, units, raw), goalHit: any };
  return { value: rankLog(view, raw), goalHit: any };
}

function rankBlocks(view: View, units: Units, raw: Float64Array): Float64Array {
  const near = unitScale(spread(raw, 10));
  const block = unitScale(blockScores(units, raw));
  const out = new Float64Array(view.n);
  for (let i = 0; i < view.n; i++) {
    const unit = units.unit[i] ?? 0;
    const parent = units.parent[unit] ?? -1;
    const score = (near[i] ?? 0) + (block[unit] ?? 0) + 0.2 * (parent < 0 ? 0 : (block[parent] ?? 0));
    out[i] = Math.exp(3 * (score - 2));
  }
  return out;
}

function blockScores(units: Units, raw: Float64Array): Float64Array {
  const sum = new Float64Array(units.count);
  const size = new Float64Array(units.count);
  for (let i = 0; i < raw.length; i++) {
    const unit = units.unit[i] ?? 0;
    sum[unit] = (sum[unit] ?? 0) + (raw[i] ?? 0);
    size[unit] = (size[unit] ?? 0) + 1;
  }
  return sum.map((value, unit) => value / ((size[unit] ?? 0) + 8) ** 0.5);
}

const HOT =
  /\b(?:error|errors|failed|failure|failures|fail|fatal|panic(?:ked)?|exception|traceback|undefined|cannot|not found|denied|timed? ?out|unexpected|assert\w*|segmentation|abort(?:ed)?)\b|✖|✗|Error\b/i;
const COLD =
  /\b(?:0 (?:errors|failures|failed)|no errors|error_?log|errors?=0|failures?[:=] ?0|--fail|fail-fast|-Werror|ignore.?error)\b/i;

function rankLog(view: View, raw: Float64Array): Float64Array {
  const { shape, count } = readTemplates(view);
  const hot = new Float64Array(view.n);
  const rare = new Float64Array(view.n);
  for (let i = 0; i < view.n; i++) {
    const seen = count[shape[i] ?? 0] ?? 1;
    rare[i] = 1 / seen;
    const line = contentOf(view, i, 600);
    if (HOT.test(line) && !COLD.test(line)) hot[i] = 1 / Math.sqrt(seen);
  }
  const heat = unitScale(spread(hot, 3));
  const near = unitScale(spread(raw, 4));
  const out = new Float64Array(view.n);
  for (let i = 0; i < view.n; i++) {
    out[i] = (heat[i] ?? 0) + 0.1 * (near[i] ?? 0) + 0.4 * (i / view.n) ** 4 + 0.2 * (rare[i] ?? 0);
  }
  return out;
}
