import { LEARNED, type Learned, soften } from './learned.ts';
import { addMeasure, type Circumstances, type Measured, measureLines } from './signals.ts';

/**
 * Ranks lines of code or prose by the learned model: what is measured of the goal's words at a line, and what the line is
 * in itself, each trusted as much as the circumstances of the text allow.
 */
export function rankProse(measured: Measured, family: 'code' | 'docs'): Float64Array {
  const { n } = measured.view;
  const model: Learned = LEARNED[family];
  const matches = new Float64Array(n);
  const nature = new Float64Array(n);
  const circumstances = measureLines(measured, (name, byLine) => {
    const ofMatches = model.matches[name];
    const weight = ofMatches ?? model.nature[name] ?? 0;
    if (weight === 0) return;
    const into = ofMatches === undefined ? nature : matches;
    addMeasure(into, byLine, weight);
  });
  const inMatches = trustIn(model.trustInMatches, circumstances);
  const inNature = trustIn(model.trustInNature, circumstances);
  for (let i = 0; i < n; i++) matches[i] = inMatches * (matches[i] ?? 0) + inNature * (nature[i] ?? 0);
  return soften(matches);
}

/** By how much a group of measures counts more or less than on average. */
export function trustIn(weights: Learned['trustInMatches'], circumstances: Circumstances): number {
  let sum = weights.always;
  for (const [name, value] of Object.entries(circumstances)) sum += (weights[name as keyof Circumstances] ?? 0) * value;
  return Math.exp(sum);
}
