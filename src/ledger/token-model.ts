import { FEATURES } from '../engine/text/features.ts';

type Vector = readonly number[];

/**
 * Tokens per text feature, in the order of `FEATURES`, for public tokenisers; fitted by least squares to recorded agent
 * sessions, logs and source code, whole and cut. The last two rows count characters. The features of markers were
 * fitted separately for the first four tokenisers, and are assumed to be similar for the next four.
 */
const TOKENISERS: Readonly<Record<string, Vector>> = {
  o200k: [0.005, 1.061, -0.051, 1.718, 0.211, 0.456, 0.777, 1.413, 0, 0.067, 0.389, 1.254, 3.78, 0.02],
  cl100k: [0.005, 1.067, -0.042, 1.718, 0.22, 0.42, 0.85, 1.387, 0, 0.07, 0.32, 1.237, 2.649, 0.026],
  r50k: [0.041, 0.87, -0.016, 1.238, 0.193, 0.98, 1.465, 1.26, 0, 1.017, -0.384, 1.676, 2.729, 0.065],
  claude2: [0.012, 1.011, 0.072, 1.123, 0.136, 0.847, 1.377, 1.085, 0, 0.025, 0.806, 1.519, 3.13, 0.051],
  gemma3: [0.007, 1.035, 0.92, 0.492, 0.129, 0.865, 1.277, 0.615, 0, 0.053, 0.636, 1.171, 3, 0.03],
  deepseek: [0.021, 0.984, 0.031, 1.538, 0.246, 0.558, 0.842, 1.127, 0, 0.074, 0.161, 1.453, 3, 0.03],
  qwen3: [0.014, 1.019, 0.741, 1.11, 0.204, 0.45, 0.878, 1.159, 0, 0.062, 0.341, 1.189, 1.5, 0.025],
  llama2: [0.097, 0.714, 0.963, 0.626, 0.201, 0.755, 1.849, 1.007, 0, 0.067, 0.826, 1.284, 2.7, 0.06],
  fourCharacters: [0.25, 0, 0.25, 0, 0.25, 0, 0.25, 0.25, 0.25, 0.25, 0, 0, 0, 0],
  threeCharacters: [0.333, 0, 0.333, 0, 0.333, 0, 0.333, 0.333, 0.333, 0.333, 0, 0, 0, 0],
};

/**
 * Additional features after the text features: number of messages (each has overhead), and hidden reasoning tokens that
 * may be resent.
 */
export const MESSAGES = FEATURES.length;
export const THOUGHTS = MESSAGES + 1;
const SIZE = THOUGHTS + 1;

/** Factor on the covariance between these tokenisers, because an unknown one may differ more. */
const WIDER = 1.5;
/** Relative standard deviations of the prior: for all features together, and for each feature individually. */
const [TOGETHER, EACH] = [0.18, 0.18];
const LEAST_DEVIATION = 0.015;
/** Standard deviations of a marker's extra cost over plain text, in tokens: per marker, and per character. */
const MARKER_DEVIATIONS: Vector = [1.5, 0.03];
/** Overhead of a message in tokens, and share of hidden reasoning that is resent: mean and standard deviation. */
const FRAME = [4, 4] as const;
const RETURNED = [0.5, 0.5] as const;

/** Sums over all observations; `precision` is a lower triangle in row order. */
export interface Evidence {
  readonly target: Vector;
  readonly precision: Vector;
}

/** Lower triangle, in row order, of a symmetric or lower triangular matrix. */
type Triangle = Float64Array;

/**
 * Estimates the tokens of texts for one model: a linear regression on features of texts, learned from the provider's
 * counts, with a prior derived from public tokenisers.
 */
export class TokenModel {
  readonly #precision: Triangle;
  readonly #target: Float64Array;
  #factor: Triangle | null = null;
  #weights: Float64Array | null = null;

  /** @param evidence - evidence of another model instance. Default: none */
  constructor(evidence?: Evidence, sums: Sums = PRIOR) {
    this.#precision = sums.precision.slice();
    this.#target = sums.target.slice();
    if (!evidence) return;
    addTo(this.#precision, evidence.precision);
    addTo(this.#target, evidence.target);
  }

  copy(): TokenModel {
    return new TokenModel(undefined, { precision: this.#precision, target: this.#target });
  }

  evidence(): Evidence {
    return {
      target: Array.from(this.#target, (value, i) => value - (PRIOR.target[i] ?? 0)),
      precision: Array.from(this.#precision, (value, i) => value - (PRIOR.precision[i] ?? 0)),
    };
  }

  /**
   * Learns from one observation.
   *
   * @param tokens - counted by the provider
   * @param deviation - standard deviation of the error of `tokens`
   */
  learn(features: Vector, tokens: number, deviation: number): void {
    const weight = 1 / deviation ** 2;
    for (let i = 0; i < SIZE; i++) {
      const own = weight * (features[i] ?? 0);
      this.#target[i] = (this.#target[i] ?? 0) + own * tokens;
      for (let j = 0; j <= i; j++) {
        const at = placeOf(i, j);
        this.#precision[at] = (this.#precision[at] ?? 0) + own * (features[j] ?? 0);
      }
    }
    this.#factor = null;
    this.#weights = null;
  }

  /** Estimated tokens of a text with these features; may be negative for differences of texts. */
  tokens(features: Vector): number {
    this.#weights ??= solved(this.#factored(), this.#target);
    return dot(this.#weights, features);
  }

  /** The part of `tokens`' standard deviation that is due to lack of evidence. */
  deviation(features: Vector): number {
    return Math.sqrt(Math.max(0, dot(solved(this.#factored(), features), features)));
  }

  #factored(): Triangle {
    this.#factor ??= cholesky(this.#precision);
    return this.#factor;
  }
}

interface Sums {
  readonly precision: Triangle;
  readonly target: Float64Array;
}

/** The prior: assumptions about a model without evidence. */
const PRIOR = priorOf(Object.values(TOKENISERS));

function priorOf(rows: readonly Vector[]): Sums {
  const count = FEATURES.length;
  const mean = FEATURES.map((_, i) => rows.reduce((sum, row) => sum + (row[i] ?? 0), 0) / rows.length);
  const spread = (i: number, j: number): number =>
    rows.reduce((sum, row) => sum + ((row[i] ?? 0) - (mean[i] ?? 0)) * ((row[j] ?? 0) - (mean[j] ?? 0)), 0);
  const covariance = new Float64Array(placeOf(count, 0));
  for (let i = 0; i < count; i++) {
    for (let j = 0; j <= i; j++) {
      const [a, b] = [mean[i] ?? 0, mean[j] ?? 0];
      const least = MARKER_DEVIATIONS[i - FEATURES.indexOf('markers')] ?? LEAST_DEVIATION;
      const own = i === j ? (EACH * Math.abs(a) + least) ** 2 : 0;
      covariance[placeOf(i, j)] = (WIDER * spread(i, j)) / (rows.length - 1) + TOGETHER ** 2 * a * b + own;
    }
  }
  const factor = cholesky(covariance);
  const precision = new Float64Array(placeOf(SIZE, 0));
  for (let i = 0; i < count; i++) {
    const column = solved(
      factor,
      mean.map((_, j) => (i === j ? 1 : 0)),
    );
    for (let j = 0; j <= i; j++) precision[placeOf(i, j)] = column[j] ?? 0;
  }
  for (const [at, [, deviation]] of [[MESSAGES, FRAME] as const, [THOUGHTS, RETURNED] as const]) {
    precision[placeOf(at, at)] = 1 / deviation ** 2;
  }
  const whole = [...mean, FRAME[0], RETURNED[0]];
  const target = Float64Array.from(whole, (_, i) =>
    whole.reduce((sum, value, j) => sum + value * (precision[placeOf(Math.max(i, j), Math.min(i, j))] ?? 0), 0),
  );
  return { precision, target };
}

/** Index of a value in the lower triangle. */
function placeOf(row: number, column: number): number {
  return (row * (row + 1)) / 2 + column;
}

function addTo(sum: Float64Array, values: ArrayLike<number>): void {
  for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] ?? 0) + (values[i] ?? 0);
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length && i < b.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}

/** The lower triangular matrix whose product with its transpose is the given symmetric, positive definite matrix. */
function cholesky(matrix: Triangle): Triangle {
  const lower = new Float64Array(matrix.length);
  for (let i = 0; placeOf(i, 0) < matrix.length; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = matrix[placeOf(i, j)] ?? 0;
      for (let k = 0; k < j; k++) sum -= (lower[placeOf(i, k)] ?? 0) * (lower[placeOf(j, k)] ?? 0);
      lower[placeOf(i, j)] = i === j ? Math.sqrt(Math.max(sum, Number.MIN_VALUE)) : sum / (lower[placeOf(j, j)] ?? 1);
    }
  }
  return lower;
}

/** Solves a linear system, given the Cholesky factor of its matrix. Missing right-hand values count as 0. */
function solved(lower: Triangle, right: ArrayLike<number>): Float64Array {
  let size = 0;
  while (placeOf(size, 0) < lower.length) size++;
  const result = new Float64Array(size);
  for (let i = 0; i < size; i++) {
    let sum = right[i] ?? 0;
    for (let k = 0; k < i; k++) sum -= (lower[placeOf(i, k)] ?? 0) * (result[k] ?? 0);
    result[i] = sum / (lower[placeOf(i, i)] ?? 1);
  }
  for (let i = size - 1; i >= 0; i--) {
    let sum = result[i] ?? 0;
    for (let k = i + 1; k < size; k++) sum -= (lower[placeOf(k, i)] ?? 0) * (result[k] ?? 0);
    result[i] = sum / (lower[placeOf(i, i)] ?? 1);
  }
  return result;
}
