/** Numbers or flags: both are indexed alike and mean the same, but flags are told in an eighth of the room. */
export type Values = Float64Array | Uint8Array;

/** A measure of all lines by its name: a number for each, mostly 0..1, or a flag for each. */
export interface Measure {
  readonly name: string;
  readonly values: Values;
  /** The block of each line where `values` are told by block, which then count for each of its lines. */
  readonly unit: Int32Array | null;
}

/** A measure told by line, or by block where `unit` says which block a line is of. */
export function measure(name: string, values: Values, unit: Int32Array | null = null): Measure {
  return { name, values, unit };
}

/** Adds measures to sums in their order, each line by the weight of the measure's name. */
export function addMeasures(
  sums: Float64Array,
  measures: readonly Measure[],
  weights: Readonly<Record<string, number>>,
): void {
  for (const { name, values, unit } of measures) {
    const weight = weights[name] ?? 0;
    if (weight === 0) continue;
    // one loop for each kind of array: one over both is slow
    if (values instanceof Uint8Array) addFlags(sums, values, weight);
    else if (unit === null) addColumn(sums, values, weight);
    else addBlocks(sums, values, unit, weight);
  }
}

function addFlags(sums: Float64Array, flags: Uint8Array, weight: number): void {
  for (let i = 0; i < sums.length; i++) if (flags[i] !== 0) sums[i] = (sums[i] ?? 0) + weight;
}

function addColumn(sums: Float64Array, column: Float64Array, weight: number): void {
  for (let i = 0; i < sums.length; i++) sums[i] = (sums[i] ?? 0) + weight * (column[i] ?? 0);
}

function addBlocks(sums: Float64Array, blocks: Float64Array, unit: Int32Array, weight: number): void {
  for (let i = 0; i < sums.length; i++) sums[i] = (sums[i] ?? 0) + weight * (blocks[unit[i] ?? 0] ?? 0);
}
