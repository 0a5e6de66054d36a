/** Sum over all lines, each fading by `exp(-distance / reach)`; two passes, linear. */
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

/** The largest of non-negative numbers. */
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
