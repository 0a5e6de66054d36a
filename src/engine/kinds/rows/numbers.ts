/** Minimum number of numbers that are compared. Set by hand, as all below. */
export const LEAST_NUMBERS = 8;
/** The largest share of the rows that may differ, and the share of which each may be rare, or so many rows. */
export const MOST_SHARE = 0.2;
export const RARE_SHARE = 0.02;
export const RARE_ROWS = 2;
/** Maximum number of different values of a state; its usual values together have at least this share. */
export const MOST_VALUES = 10;
export const USUAL_SHARE = 0.8;
/** Names of columns whose numbers are states: any count above 0, or a number far from the others, matters. */
export const COUNTS_FAULTS =
  /exit|err|fail|conflict|vuln|lost|crash|reject|time_?outs?|drop|unreach|dead|kill|unhealthy|critical|high|missing|broken|flak|che?cksum|cksum|fault|bad/i;
export const OF_STATE =
  /restart|cover|stmts|branch|func|lines|miss|retr|lag|use%|used%|capacity|cpu|mem|load|latency|p9\d|pending|%/i;
/** A number is far from the others at this many times their median distance from the median. */
const FAR = 8;
/** Minimum distance, as a share of the median, and as a number. */
const LEAST_SHARE = 0.3;
const LEAST_DISTANCE = 3;
/** Maximum number of rows that stay for the numbers of a column, or this share of the rows if that is more. */
const MOST_OUTLIERS = 5;

/** A number, and the line that it is in. */
export interface NumberInRow {
  readonly i: number;
  readonly value: number;
}

/** Rows whose number is far from the others; `faults`: any number is far from 0. */
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

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
