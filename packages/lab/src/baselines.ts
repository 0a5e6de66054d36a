import { createHash } from 'node:crypto';
import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import type { SourceType } from 'mcp-pruner/engine/types.ts';
import type { EvalCase } from './cases.ts';
import { isDeclaration, isHeading } from './structure.ts';
import { terms } from './terms.ts';

/** Input of a baseline. Only the oracle uses `needed`. */
export interface BaselineInput extends Pick<EvalCase, 'id' | 'goal' | 'sourceType' | 'needed'> {
  readonly lines: readonly string[];
  /** Words of each line. */
  readonly words: readonly (readonly string[])[];
}

/** A simple ranking of lines. */
interface Baseline {
  readonly name: string;
  /** Whether to keep lines in short gaps, where a cut would save less than its marker costs. */
  readonly closesGaps: boolean;
  /** Whether structural lines are kept first, within the budget. */
  readonly protect: boolean;
  /** Lines with higher scores are kept first; index 0 is line 1. */
  readonly scores: (input: BaselineInput) => Float64Array;
}

/** Generator of uniform numbers in [0, 1), determined by a key. */
function seeded(key: string): () => number {
  const mask = (1n << 64n) - 1n;
  let state = BigInt(`0x${createHash('sha256').update(key).digest('hex').slice(0, 16)}`);
  return () => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & mask;
    return Number(state >> 33n) / 2 ** 31;
  };
}

function randomBlocks({ id, lines }: BaselineInput): Float64Array {
  const next = seeded(id);
  const blocks = Float64Array.from({ length: Math.floor(lines.length / 10) + 1 }, next);
  return Float64Array.from(lines, (_, i) => blocks[Math.floor(i / 10)] ?? 0);
}

function headAndTail({ lines }: BaselineInput): Float64Array {
  return Float64Array.from(lines, (_, i) => -Math.min(i, lines.length - 1 - i));
}

/** Lines with words of the goal and three lines of context; then lines from the top. */
function grep({ goal, words }: BaselineInput): Float64Array {
  const wanted = new Set(terms(goal));
  const scores = new Float64Array(words.length);
  words.forEach((line, i) => {
    const hits = new Set(line.filter((word) => wanted.has(word))).size;
    if (hits === 0) return;
    for (let d = -3; d <= 3; d++) {
      const score = hits - Math.abs(d) * 0.01 - (d === 0 ? 0 : 0.5);
      if (i + d >= 0 && i + d < scores.length) scores[i + d] = Math.max(scores[i + d] ?? 0, score);
    }
  });
  return scores.map((score, i) => (score > 0 ? score : -i * 1e-6));
}

/** BM25 of each line against the goal, with each line as a document. */
function bm25(goal: string, words: readonly (readonly string[])[], k1 = 1.2, b = 0.4): Float64Array {
  const inLines = new Map<string, number>();
  let total = 0;
  for (const line of words) {
    total += line.length;
    for (const word of new Set(line)) inLines.set(word, (inLines.get(word) ?? 0) + 1);
  }
  const average = total / Math.max(1, words.length) || 1;
  const weights = new Map<string, number>();
  for (const word of terms(goal)) weights.set(word, (weights.get(word) ?? 0) + 1);
  for (const [word, inGoal] of weights) {
    const df = inLines.get(word);
    if (df === undefined) weights.delete(word);
    else weights.set(word, Math.log(1 + (words.length - df + 0.5) / (df + 0.5)) * Math.sqrt(Math.min(inGoal, 3)));
  }
  return Float64Array.from(words, (line) => {
    const counts = new Map<string, number>();
    for (const word of line) if (weights.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
    let score = 0;
    for (const [word, n] of counts) {
      score += ((weights.get(word) ?? 0) * n * (k1 + 1)) / (n + k1 * (1 - b + (b * line.length) / average));
    }
    return score;
  });
}

/** Spreads scores over neighbouring lines; `weight(d)` is the share for a line at distance `d`. */
function smooth(raw: Float64Array, reach: number, weight: (distance: number) => number): Float64Array {
  const weights = Float64Array.from({ length: reach + 1 }, (_, d) => weight(d));
  const out = new Float64Array(raw.length);
  raw.forEach((value, i) => {
    if (value === 0) return;
    for (let j = Math.max(0, i - reach); j <= Math.min(raw.length - 1, i + reach); j++) {
      out[j] = (out[j] ?? 0) + value * (weights[Math.abs(i - j)] ?? 0);
    }
  });
  return out;
}

function toUnit(values: Float64Array): Float64Array {
  const top = values.reduce((a, b) => Math.max(a, b), 0);
  return top > 0 ? values.map((value) => value / top) : values;
}

function bm25Lines({ goal, words }: BaselineInput): Float64Array {
  return smooth(bm25(goal, words), 2, (d) => [1, 0.5, 0.25][d] ?? 0);
}

/** Whether a line opens a block: a declaration that contains a bracket or a declaring keyword. */
function opensBlock(line: string): boolean {
  return (
    isDeclaration(line) &&
    (line.includes('(') || /\b(?:def|class|fn|func|function|impl|struct|enum|trait|interface)\b/.test(line))
  );
}

/** Number of the definition or section of each line. */
function blocksOf(lines: readonly string[], sourceType: SourceType): number[] {
  let block = 0;
  let size = 0;
  return lines.map((line) => {
    const starts =
      sourceType === 'code'
        ? size >= 4 && opensBlock(line.slice(0, 400))
        : isHeading(line) || (line.trim() === '' && size >= 10);
    if (starts) {
      block++;
      size = 0;
    }
    size++;
    return block;
  });
}

const HOT =
  /\b(?:errors?|failed|failures?|fail|fatal|panic(?:ked)?|exception|traceback|undefined|cannot|not found|denied|timed? ?out|unexpected|assert\w*|segmentation|abort(?:ed)?)\b|✖|✗|Error\b/i;
const COLD =
  /\b(?:0 (?:errors|failures|failed)|no errors|error_?log|errors?=0|failures?[:=] ?0|--fail|fail-fast|-Werror|ignore.?error)\b/i;

/** Rare lines that look like failures, preferring later ones, because the goal hardly matters in logs. */
function rareFailures(input: BaselineInput): Float64Array {
  const { lines, goal, words } = input;
  const shapes = lines.map((line) =>
    line
      .slice(0, 600)
      .replaceAll(/[0-9a-f]{6,}|\d+/g, '0')
      .slice(0, 80),
  );
  const seen = new Map<string, number>();
  for (const shape of shapes) seen.set(shape, (seen.get(shape) ?? 0) + 1);
  const timesSeen = (i: number): number => seen.get(shapes[i] ?? '') ?? 1;
  const hot = Float64Array.from(lines, (line, i) => {
    const head = line.slice(0, 600);
    return HOT.test(head) && !COLD.test(head) ? 1 / Math.sqrt(timesSeen(i)) : 0;
  });
  const hotNear = toUnit(smooth(hot, 9, (d) => Math.exp(-d / 3)));
  const goalNear = toUnit(smooth(bm25(goal, words), 10, (d) => Math.exp(-d / 4)));
  return Float64Array.from(
    lines,
    (_, i) => (hotNear[i] ?? 0) + 0.1 * (goalNear[i] ?? 0) + 0.4 * (i / lines.length) ** 4 + 0.2 / timesSeen(i),
  );
}

/** Wide smoothing and the score of the enclosing block; for logs, rare failures. */
function reference(input: BaselineInput): Float64Array {
  const { lines, goal, words, sourceType } = input;
  if (sourceType === 'logs') return rareFailures(input);
  const raw = bm25(goal, words);
  const near = toUnit(smooth(raw, 30, (d) => Math.exp(-d / 10)));
  const blocks = blocksOf(lines, sourceType);
  const ofBlock = new Map<number, number>();
  for (const [block, members] of groupBy(lines.keys(), (i) => blocks[i] ?? 0)) {
    const scores = members.map((i) => raw[i] ?? 0).sort((a, b) => b - a);
    ofBlock.set(block, scores.slice(0, 5).reduce((a, b) => a + b, 0) / (scores.length + 8) ** 0.35);
  }
  const top = Math.max(...ofBlock.values()) || 1;
  return Float64Array.from(lines, (_, i) => (near[i] ?? 0) + (ofBlock.get(blocks[i] ?? 0) ?? 0) / top);
}

/** Ranks the needed lines first, then the other lines by their distance to the nearest needed line. */
function oracle({ needed, lines }: BaselineInput): Float64Array {
  let k = 0;
  return Float64Array.from(lines, (_, i) => {
    const distance = (at: number): number => Math.abs((needed[at] ?? 0) - (i + 1));
    while (k + 1 < needed.length && distance(k + 1) <= distance(k)) k++;
    return -distance(k);
  });
}

/** Baselines in report order. `random` and `oracle` are the ends of the scale. */
export const BASELINES: readonly Baseline[] = [
  { name: 'random', closesGaps: false, protect: false, scores: randomBlocks },
  { name: 'head+tail', closesGaps: false, protect: false, scores: headAndTail },
  { name: 'grep', closesGaps: true, protect: false, scores: grep },
  { name: 'bm25', closesGaps: true, protect: false, scores: bm25Lines },
  { name: 'reference', closesGaps: true, protect: false, scores: reference },
  { name: 'reference+structure', closesGaps: true, protect: true, scores: reference },
  { name: 'oracle', closesGaps: false, protect: false, scores: oracle },
];
