import { type Circumstances, type Measured, measureLines } from './features.ts';
import { addMeasures } from './measures.ts';
import { LEARNED, type Learned, soften } from './weights.ts';

/**
 * Ranks lines of code or prose by the learned model: what is measured of the goal's words at a line, and what the line is
 * in itself, each trusted as much as the circumstances of the text allow.
 */
export function rankProse(measured: Measured, family: 'code' | 'docs'): Float64Array {
  const { n } = measured.view;
  const model: Learned = LEARNED[family];
  const matches = new Float64Array(n);
  const nature = new Float64Array(n);
  const { measures, circumstances } = measureLines(measured);
  addMeasures(matches, measures, model.matches);
  addMeasures(nature, measures, model.nature);
  const inMatches = trustIn(model.trustInMatches, circumstances);
  const inNature = trustIn(model.trustInNature, circumstances);
  blend(matches, inMatches, nature, inNature);
  return soften(matches);
}

/** Sums two columns into the first, each by its factor. */
function blend(into: Float64Array, factor: number, other: Float64Array, otherFactor: number): void {
  for (let i = 0; i < into.length; i++) into[i] = factor * (into[i] ?? 0) + otherFactor * (other[i] ?? 0);
}

/** By how much a group of measures counts more or less than on average. */
export function trustIn(weights: Learned['trustInMatches'], circumstances: Circumstances): number {
  let sum = weights.always;
  for (const [name, value] of Object.entries(circumstances)) sum += (weights[name as keyof Circumstances] ?? 0) * value;
  return Math.exp(sum);
}
