/** A named measure of all lines: a number for each, mostly 0..1, or a flag. */
export interface Measure {
  readonly name: string;
  /** Numbers, or bytes that each hold the flags of several measures. */
  readonly values: Float64Array | Uint8Array;
  /** The block of each line if `values` are by block; a block's value applies to all its lines. */
  readonly unit: Int32Array | null;
  /** The bit of a flag in its byte. */
  readonly bit: number;
}

/** A measure by line, or by block if `unit` gives the block of each line. */
export function measure(name: string, values: Float64Array, unit: Int32Array | null = null): Measure {
  return { name, values, unit, bit: 0 };
}

/** A measure that is 1 for lines with a bit set in their byte. */
export function flag(name: string, values: Uint8Array, bit: number): Measure {
  return { name, values, unit: null, bit };
}

/** The value of a measure for line index `i`. */
export function valueAt({ values, unit, bit }: Measure, i: number): number {
  if (bit !== 0) return ((values[i] ?? 0) & bit) === 0 ? 0 : 1;
  return values[unit === null ? i : (unit[i] ?? 0)] ?? 0;
}

/** Adds weighted measures to the sums of all lines. */
export function addMeasures(
  sums: Float64Array,
  measures: readonly Measure[],
  weights: Readonly<Record<string, number>>,
): void {
  for (const { name, values, unit, bit } of measures) {
    const weight = weights[name] ?? 0;
    if (weight === 0) continue;
    // one loop for each kind of array: one over both is slow
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

/** `log(1 + whole)` of a whole number; nearly all values are small, and are in a table. */
export function logOf(whole: number): number {
  return whole < LOGS.length ? (LOGS[whole] ?? 0) : Math.log1p(whole);
}

/** Measures with their weights, and a factor for all of them. */
export interface WeightedMeasures {
  readonly measures: readonly Measure[];
  readonly weights: Readonly<Record<string, number>>;
  readonly factor: number;
}
