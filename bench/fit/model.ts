import type { Observation } from './observe.ts';

/** Groups of weighted measures; a line's score is the sum of the groups, each times `exp` of what is trusted in it. */
export type Model = readonly {
  readonly weights: Readonly<Record<string, number>>;
  readonly trust: Readonly<Record<string, number>> | null;
}[];

export interface FitOptions {
  readonly epochs: number;
  /** What the square of each parameter costs. */
  readonly l2: number;
}

const RATE = 0.05;
const FADE = 0.9;
const FADE_SQUARES = 0.999;

/** All numbers of a model in a row: weights, then trust, group by group. */
function numbersOf(model: Model): number[] {
  return model.flatMap(({ weights, trust }) => [...Object.values(weights), ...Object.values(trust ?? {})]);
}

function modelOf(like: Model, numbers: readonly number[]): Model {
  let at = 0;
  const taken = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, numbers[at++] ?? 0]));
  return like.map(({ weights, trust }) => ({
    weights: taken(Object.keys(weights)),
    trust: trust && taken(Object.keys(trust)),
  }));
}

/** Mean loss of a case: of its needed lines the mean negative logarithm of their share. */
export function lossOf(model: Model, observations: readonly Observation[]): number {
  const numbers = numbersOf(model);
  const sum = observations.reduce((total, one) => total + addGradient(numbers, one, null), 0);
  return sum / observations.length;
}

/** Fits a model by Adam over all cases at once; deterministic. */
export function fit(start: Model, observations: readonly Observation[], { epochs, l2 }: FitOptions): Model {
  const numbers = numbersOf(start);
  const slope = new Float64Array(numbers.length);
  const square = new Float64Array(numbers.length);
  for (let epoch = 1; epoch <= epochs; epoch++) {
    const gradient = new Float64Array(numbers.length);
    for (const one of observations) addGradient(numbers, one, gradient);
    for (let k = 0; k < numbers.length; k++) {
      const g = (gradient[k] ?? 0) / observations.length + 2 * l2 * (numbers[k] ?? 0);
      slope[k] = FADE * (slope[k] ?? 0) + (1 - FADE) * g;
      square[k] = FADE_SQUARES * (square[k] ?? 0) + (1 - FADE_SQUARES) * g * g;
      const step =
        (slope[k] ?? 0) / (1 - FADE ** epoch) / (Math.sqrt((square[k] ?? 0) / (1 - FADE_SQUARES ** epoch)) + 1e-8);
      numbers[k] = (numbers[k] ?? 0) - RATE * step;
    }
  }
  return modelOf(start, numbers);
}

/** The loss of a case; adds its gradient where one is wanted. */
function addGradient(numbers: readonly number[], one: Observation, gradient: Float64Array | null): number {
  const { lines, columns, circumstances, needed } = one;
  const groups: { at: number; factor: number; sums: Float64Array }[] = [];
  const scores = new Float64Array(lines);
  let at = 0;
  for (const [g, measures] of columns.entries()) {
    const sums = new Float64Array(lines);
    measures.forEach((column, k) => {
      const weight = numbers[at + k] ?? 0;
      if (weight !== 0) for (let i = 0; i < lines; i++) sums[i] = (sums[i] ?? 0) + weight * (column[i] ?? 0);
    });
    const trusted = circumstances[g] ?? [];
    const factor = Math.exp(
      trusted.reduce((sum, value, k) => sum + value * (numbers[at + measures.length + k] ?? 0), 0),
    );
    for (let i = 0; i < lines; i++) scores[i] = (scores[i] ?? 0) + factor * (sums[i] ?? 0);
    groups.push({ at, factor, sums });
    at += measures.length + trusted.length;
  }
  const most = scores.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const shares = scores.map((score) => Math.exp(score - most));
  const all = shares.reduce((a, b) => a + b, 0);
  const loss = needed.reduce((sum, i) => sum - ((scores[i] ?? 0) - most - Math.log(all)), 0) / needed.length;
  if (gradient === null) return loss;
  const pull = shares.map((share) => share / all);
  for (const i of needed) pull[i] = (pull[i] ?? 0) - 1 / needed.length;
  for (const [g, { at: from, factor, sums }] of groups.entries()) {
    const measures = columns[g] ?? [];
    measures.forEach((column, k) => {
      let sum = 0;
      for (let i = 0; i < lines; i++) sum += (pull[i] ?? 0) * (column[i] ?? 0);
      gradient[from + k] = (gradient[from + k] ?? 0) + factor * sum;
    });
    let sum = 0;
    for (let i = 0; i < lines; i++) sum += (pull[i] ?? 0) * (sums[i] ?? 0);
    (circumstances[g] ?? []).forEach((value, k) => {
      const place = from + measures.length + k;
      gradient[place] = (gradient[place] ?? 0) + factor * sum * value;
    });
  }
  return loss;
}
