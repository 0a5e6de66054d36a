/** Minimum number of values for a comparison of numbers. Set by hand, like all below. */
export const LEAST_NUMBERS = 8;
/** Maximum share of rows that may differ, and maximum share, or number of rows, for a value to be rare. */
export const MOST_SHARE = 0.2;
export const RARE_SHARE = 0.02;
export const RARE_ROWS = 2;
/** Maximum number of distinct values of a state, and minimum share of its common values together. */
export const MOST_VALUES = 10;
export const USUAL_SHARE = 0.8;
/** Names of columns with state numbers, in which counts above 0 and outliers matter. */
export const COUNTS_FAULTS =
  /exit|err|fail|conflict|vuln|lost|crash|reject|time_?outs?|drop|unreach|dead|kill|unhealthy|critical|high|missing|broken|flak|che?cksum|cksum|fault|bad/i;
export const OF_STATE =
  /restart|cover|stmts|branch|func|lines|miss|retr|lag|use%|used%|capacity|cpu|mem|load|latency|p9\d|pending|%/i;
/** Minimum distance of an outlier from the median, as a multiple of the median absolute deviation. */
const FAR = 8;
/** Minimum distance of an outlier, as a share of the median and as a number. */
const LEAST_SHARE = 0.3;
const LEAST_DISTANCE = 3;
/** Maximum number of outlier rows kept per column, or this share of the rows if that is more. */
const MOST_OUTLIERS = 5;

export interface NumberInRow {
  readonly i: number;
  readonly value: number;
}

/** Rows with outliers; with `faults`, outliers are measured from 0. */
export function farNumbers(numbers: readonly NumberInRow[], faults: boolean): number[] {
  if (numbers.length < LEAST_NUMBERS) return [];
  const middle = medianOf(numbers.map(({ value }) => value));
  const spread = medianOf(numbers.map(({ value }) => Math.abs(value - middle)));
  const least = faults && middle === 0 ? 1 : Math.max(LEAST_DISTANCE, LEAST_SHARE * Math.abs(middle), FAR * spread);
  const far = numbers
    .filter(({ value }) => Math.abs(value - middle) >= least)
    .sort((a, b) => Math.abs(b.value - middle) - Math.abs(a.value - middle) || a.i - b.i);
  if (far.length > numbers.length * MOST_SHARE) return [];
  return far.slice(0, Math.max(MOST_OUTLIERS, numbers.length * RARE_SHARE)).map(({ i }) => i);
}

/** Minimum distance of a value that is far from all others, in deviations and as a multiple of the median. */
const FARTHEST = 20;
const LEAST_RATIO = 4;
/** Smallest deviation that is assumed, as a share of the median. */
const LEAST_SPREAD = 0.05;
/** Maximum number of such values per column, or this share if that is more; in a wide distribution there are more. */
const MOST_FARTHEST = 2;
const FARTHEST_SHARE = 0.005;

/** Rows with a value that is far from all others, whatever the column is called. */
export function farthestNumbers(numbers: readonly NumberInRow[]): number[] {
  if (numbers.length < 2 * LEAST_NUMBERS) return [];
  const middle = medianOf(numbers.map(({ value }) => value));
  const deviation = medianOf(numbers.map(({ value }) => Math.abs(value - middle)));
  const spread = Math.max(deviation, LEAST_SPREAD * Math.abs(middle));
  if (spread === 0) return [];
  const least = Math.max(FARTHEST * spread, LEAST_RATIO * Math.abs(middle));
  const far = numbers.filter(({ value }) => Math.abs(value - middle) > least);
  return far.length > Math.max(MOST_FARTHEST, numbers.length * FARTHEST_SHARE) ? [] : far.map(({ i }) => i);
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
