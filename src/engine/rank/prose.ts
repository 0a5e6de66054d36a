import { type Circumstances, type Measured, measureLines } from './features.ts';
import { addMeasures, type WeightedMeasures } from './measures.ts';
import type { ProseWeights } from './weights.ts';

/**
 * Measures lines of code or prose in two groups: matches with the goal, and properties of the line itself. The
 * circumstances of the text determine the weight of each group.
 */
export function measureProse(measured: Measured, weights: ProseWeights): WeightedMeasures[] {
  const { measures, circumstances } = measureLines(measured);
  return [
    { measures, weights: weights.matches, factor: trustIn(weights.trustInMatches, circumstances) },
    { measures, weights: weights.nature, factor: trustIn(weights.trustInNature, circumstances) },
  ];
}

/** Factor for the weight of a feature group, relative to the average. */
function trustIn(weights: ProseWeights['trustInMatches'], circumstances: Circumstances): number {
  let sum = weights.always;
  for (const [name, value] of Object.entries(circumstances)) sum += (weights[name as keyof Circumstances] ?? 0) * value;
  return Math.exp(sum);
}

/** The value of each of `n` lines from weighted features, scaled so that the maximum is 1. */
export function rankByMeasures(groups: readonly WeightedMeasures[], n: number): Float64Array {
  const total = new Float64Array(n);
  for (const { measures, weights, factor } of groups) {
    const sums = new Float64Array(n);
    addMeasures(sums, measures, weights);
    for (let i = 0; i < n; i++) total[i] = (total[i] ?? 0) + factor * (sums[i] ?? 0);
  }
  return softmax(total);
}

/** Exponentiates weighted sums, scaled so that the maximum is 1. */
function softmax(scores: Float64Array): Float64Array {
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < scores.length; i++) most = Math.max(most, scores[i] ?? 0);
  const out = new Float64Array(scores.length);
  for (let i = 0; i < out.length; i++) out[i] = Math.exp((scores[i] ?? 0) - most);
  return out;
}
