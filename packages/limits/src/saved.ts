import type { Moved, WindowUse } from '@mcp-pruner/money/limits/attribution.ts';

/** Share of a window saved by pruning, with its 95 % interval, in millionths. */
export interface SavedShare {
  readonly used: number;
  readonly low: number;
  readonly high: number;
}

/** Minimum number of readings with movement for a rate. */
const ENOUGH_MOVEMENTS = 50;
/** Maximum number of models with their own rate; all others share one. */
const MAX_MODELS = 4;
const Z = 1.96;

/** Relative savings by request id. Requests without a bill or price are absent. */
export type SavedRatios = ReadonlyMap<string, number>;

/**
 * Estimates the share of a window that was saved by cuts. For each model, the movement per billed input equivalent is
 * estimated by regression over the readings of the last weeks.
 *
 * @param history - the account's same window over the last two weeks, including the current one
 * @param ratios - saved dollars per dollar of a request
 * @returns `null` if there are too few readings with movement
 */
export function savedShare(current: WindowUse, history: readonly WindowUse[], ratios: SavedRatios): SavedShare | null {
  const models = modelsOf(history);
  const rows = history.flatMap((window) => stepsOf(window, models));
  if (rows.length < ENOUGH_MOVEMENTS) return null;
  const fit = regressed(rows, models.length);
  if (fit === null) return null;
  const saved = models.map(() => 0);
  for (const { reading } of current.requests) {
    const ratio = ratios.get(reading.request) ?? 0;
    const at = indexOf(models, reading.model);
    saved[at] = (saved[at] ?? 0) + reading.weight * ratio;
  }
  const used = dot(saved, fit.rates);
  const error =
    Z *
    Math.sqrt(
      Math.max(
        0,
        fit.variance *
          dot(
            saved,
            saved.map((_, i) => dot(fit.inverse[i] ?? [], saved)),
          ),
      ),
    );
  return {
    used: Math.max(0, Math.round(used)),
    low: Math.max(0, Math.round(used - error)),
    high: Math.max(0, Math.round(used + error)),
  };
}

/** Models with the largest weights, followed by a name for all others. */
function modelsOf(history: readonly WindowUse[]): string[] {
  const weights = new Map<string, number>();
  for (const { reading } of history.flatMap(({ requests }) => requests)) {
    weights.set(reading.model, (weights.get(reading.model) ?? 0) + reading.weight);
  }
  return [...weights]
    .filter(([, weight]) => weight > 0)
    .sort((a, b) => b[1] - a[1])
    .slice(0, MAX_MODELS)
    .map(([model]) => model);
}

/** Index of a model's rate; models without one use the most used model's rate. */
function indexOf(models: readonly string[], model: string): number {
  return Math.max(0, models.indexOf(model));
}

interface Movement {
  readonly moved: number;
  /** Weights of the requests since the previous movement, by model. */
  readonly weights: readonly number[];
}

/** Movements of a window, with the requests between them, while our requests ran. */
function stepsOf({ requests, movements }: WindowUse, models: readonly string[]): Movement[] {
  const steps: Movement[] = [];
  let at = 0;
  for (const { endedMs, used, isOurs } of movements) {
    const weights = models.map(() => 0);
    for (let next: Moved | undefined = requests[at]; next && next.reading.endedMs <= endedMs; next = requests[++at]) {
      const i = indexOf(models, next.reading.model);
      weights[i] = (weights[i] ?? 0) + next.reading.weight;
    }
    if (isOurs) steps.push({ moved: used, weights });
  }
  return steps;
}

interface Fit {
  readonly rates: readonly number[];
  /** Inverse of the matrix of sums of weight products. */
  readonly inverse: readonly (readonly number[])[];
  /** Variance of the movements around the fit. */
  readonly variance: number;
}

/** Least squares through the origin. `null` if the weights of two models cannot be distinguished. */
function regressed(rows: readonly Movement[], count: number): Fit | null {
  if (count === 0) return null;
  const indices = Array.from({ length: count }, (_, i) => i);
  const products = indices.map((i) =>
    indices.map((j) => rows.reduce((sum, { weights }) => sum + (weights[i] ?? 0) * (weights[j] ?? 0), 0)),
  );
  const inverse = inverted(products);
  if (inverse === null) return null;
  const moments = indices.map((i) => rows.reduce((sum, { weights, moved }) => sum + (weights[i] ?? 0) * moved, 0));
  const rates = inverse.map((row) => Math.max(0, dot(row, moments)));
  const squares = rows.reduce((sum, { weights, moved }) => sum + (moved - dot(weights, rates)) ** 2, 0);
  return { rates, inverse, variance: squares / Math.max(1, rows.length - count) };
}

/** Inverts a matrix (Gauss-Jordan with pivoting); `null` if singular. */
function inverted(matrix: readonly (readonly number[])[]): number[][] | null {
  const size = matrix.length;
  const rows = matrix.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1 : 0))]);
  for (let at = 0; at < size; at++) {
    const best = rows.reduce(
      (found, row, i) => (i >= at && Math.abs(row[at] ?? 0) > Math.abs(rows[found]?.[at] ?? 0) ? i : found),
      at,
    );
    const pivotRow = rows[best];
    const pivot = pivotRow?.[at] ?? 0;
    if (!pivotRow || Math.abs(pivot) < 1e-9) return null;
    rows[best] = rows[at] ?? [];
    rows[at] = pivotRow.map((value) => value / pivot);
    for (let i = 0; i < size; i++) {
      const factor = rows[i]?.[at] ?? 0;
      if (i !== at && factor !== 0) rows[i] = (rows[i] ?? []).map((value, j) => value - factor * (rows[at]?.[j] ?? 0));
    }
  }
  return rows.map((row) => row.slice(size));
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
}
