import { type Lines, lineAt } from '../engine/text/lines.ts';
import { CallFailure } from './post-json.ts';

/**
 * The scores in a rerank answer, one for each document, from 0 to 1. They may be in one list, in a list per query (all
 * queries are equal, so that the first is used), or in a list per document; logits become probabilities.
 *
 * @throws CallFailure `wrong_shape` when there is not exactly one finite number for each document
 */
export function readScores(json: unknown, documents: number, status: number): number[] {
  const listed = typeof json === 'object' && json !== null && 'scores' in json ? json.scores : null;
  const scores = flatten(listed, documents);
  if (!scores || scores.length !== documents || !scores.every(isFiniteNumber)) {
    throw new CallFailure('wrong_shape', status);
  }
  const areShares = scores.every((score) => score >= 0 && score <= 1);
  return areShares ? scores : scores.map((logit) => 1 / (1 + Math.exp(-logit)));
}

function flatten(listed: unknown, documents: number): unknown[] | null {
  if (!Array.isArray(listed)) return null;
  const [first] = listed;
  if (!Array.isArray(first)) return listed;
  if (first.length === documents) return first;
  return listed.map((row) => (Array.isArray(row) && row.length === 1 ? row[0] : null));
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** The opinion of the line with the lowest score, and the range above it for scores below one half. */
const LOWEST = 0.1;
const SPAN = 0.7;

/**
 * Turns the scores of some lines into opinions of all. A score of at least one half is used directly, but raised to at
 * least `LOWEST + SPAN`. Below it only the order counts: a bare line rarely says enough to be judged alone, so the
 * scale of small scores means little. Lines that say the same as a scored one share its score; there is no opinion of
 * others.
 *
 * @param sent - indexes of the scored lines, from 0
 */
export function opinionsOf(lines: Lines, sent: readonly number[], scores: readonly number[]): Float64Array {
  const ranked = [...scores].sort((a, b) => a - b);
  const flat = ranked[0] === ranked.at(-1);
  const below = new Map<number, number>();
  ranked.forEach((score, i) => {
    if (!below.has(score)) below.set(score, i);
  });
  const opinionOf = (score: number): number => {
    if (score >= 0.5) return Math.max(score, LOWEST + SPAN);
    if (flat) return Number.NaN;
    return LOWEST + (SPAN * (below.get(score) ?? 0)) / (scores.length - 1);
  };
  const byContent = new Map(sent.map((index, i) => [lineAt(lines, index + 1), opinionOf(scores[i] ?? 0)]));
  const opinions = new Float64Array(lines.count);
  for (let i = 0; i < lines.count; i++) opinions[i] = byContent.get(lineAt(lines, i + 1)) ?? Number.NaN;
  return opinions;
}
