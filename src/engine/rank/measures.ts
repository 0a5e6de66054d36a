/** A named feature of all lines: a number for each, mostly 0..1, or a flag. */
export interface Measure {
  readonly name: string;
  /** Numbers, or bytes that combine the flags of several features. */
  readonly values: Float64Array | Uint8Array;
  /** Block of each line if `values` are per block; otherwise `null`. */
  readonly unit: Int32Array | null;
  /** Bit of a flag in its byte. */
  readonly bit: number;
}

/** A feature per line, or per block if `unit` gives the block of each line. */
export function measure(name: string, values: Float64Array, unit: Int32Array | null = null): Measure {
  return { name, values, unit, bit: 0 };
}

/** A feature that is 1 for lines with a bit set in their byte. */
export function flag(name: string, values: Uint8Array, bit: number): Measure {
  return { name, values, unit: null, bit };
}

export function valueAt({ values, unit, bit }: Measure, i: number): number {
  if (bit !== 0) return ((values[i] ?? 0) & bit) === 0 ? 0 : 1;
  return values[unit === null ? i : (unit[i] ?? 0)] ?? 0;
}

/** Adds weighted features to the sums of all lines. */
export function addMeasures(
  sums: Float64Array,
  measures: readonly Measure[],
  weights: Readonly<Record<string, number>>,
): void {
  for (const { name, values, unit, bit } of measures) {
    const weight = weights[name] ?? 0;
    if (weight === 0) continue;
    // separate loops per array type, because a polymorphic loop is slow
    if (values instanceof Uint8Array) addFlags(sums, values, bit, weight);
    else if (unit === null) addColumn(sums, values, weight);
    else addBlocks(sums, values, unit, weight);
  }
}

function addFlags(sums: Float64Array, flags: Uint8Array, bit: number, weight: number): void {
  for (let i = 0; i < sums.length; i++) if (((flags[i] ?? 0) & bit) !== 0) sums[i] = (sums[i] ?? 0) + weight;
}

function addColumn(sums: Float64Array, column: Float64Array, weight: number): void {
  for (let i = 0; i < sums.length; i++) sums[i] = (sums[i] ?? 0) + weight * (column[i] ?? 0);
}

function addBlocks(sums: Float64Array, blocks: Float64Array, unit: Int32Array, weight: number): void {
  for (let i = 0; i < sums.length; i++) sums[i] = (sums[i] ?? 0) + weight * (blocks[unit[i] ?? 0] ?? 0);
}

const LOGS = Float64Array.from({ length: 1024 }, (_, k) => Math.log1p(k));

/** `log(1 + whole)` for a whole number; small values come from a table. */
export function logOf(whole: number): number {
  return whole < LOGS.length ? (LOGS[whole] ?? 0) : Math.log1p(whole);
}

export interface WeightedMeasures {
  readonly measures: readonly Measure[];
  readonly weights: Readonly<Record<string, number>>;
  readonly factor: number;
}

/** Sum over all lines, fading by `exp(-distance / reach)`; two passes, linear time. */
export function spread(values: Float64Array, reach: number): Float64Array {
  const n = values.length;
  const out = new Float64Array(n);
  const fade = Math.exp(-1 / reach);
  let carry = 0;
  for (let i = 0; i < n; i++) {
    carry = carry * fade + (values[i] ?? 0);
    out[i] = carry;
  }
  carry = 0;
  for (let i = n - 1; i >= 0; i--) {
    out[i] = (out[i] ?? 0) + carry;
    carry = (carry + (values[i] ?? 0)) * fade;
  }
  return out;
}

/** The maximum of non-negative numbers. */
export function largestOf(values: Float64Array): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) most = Math.max(most, values[i] ?? 0);
  return most;
}

export function sumOf(values: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i] ?? 0;
  return sum;
}

/** Scales the values so that the largest is 1. */
export function unitScale(values: Float64Array): Float64Array {
  const most = largestOf(values);
  if (most > 0) for (let i = 0; i < values.length; i++) values[i] = (values[i] ?? 0) / most;
  return values;
}

/** A column of `n` numbers. A loop, because `Float64Array.from` with a mapper is many times slower. */
export function columnOf(n: number, of: (i: number) => number): Float64Array {
  const out = new Float64Array(n);
  for (let i = 0; i < n; i++) out[i] = of(i);
  return out;
}
