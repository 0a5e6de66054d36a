/** Keeps lines in gaps of one or two lines inside the text. */
function closeGaps(kept: Uint8Array): number {
  const n = kept.length;
  let size = 0;
  for (let i = 0; i < n; i++) {
    if (kept[i]) {
      size++;
      continue;
    }
    let end = i;
    while (end < n && !kept[end]) end++;
    if (end - i <= 2 && i > 0 && end < n) {
      kept.fill(1, i, end);
      size += end - i;
    }
    i = end - 1;
  }
  return size;
}

/**
 * Selects the best-scored lines within a budget.
 *
 * @param first - flags of lines to select first, or `null`
 * @returns one flag per line; at most `budget` are set
 */
export function select(
  scores: Float64Array,
  budget: number,
  closesGaps: boolean,
  first: Uint8Array | null,
): Uint8Array {
  const n = scores.length;
  const order = Uint32Array.from({ length: n }, (_, i) => i).sort(
    (a, b) => (first?.[b] ?? 0) - (first?.[a] ?? 0) || (scores[b] ?? 0) - (scores[a] ?? 0) || a - b,
  );
  const take = (count: number): Uint8Array => {
    const kept = new Uint8Array(n);
    for (const i of order.subarray(0, count)) kept[i] = 1;
    return kept;
  };
  if (!closesGaps || budget >= n) return take(budget);
  let low = 0;
  let high = budget;
  let best = take(Math.max(1, Math.floor(budget / 4)));
  while (low <= high) {
    const middle = (low + high) >> 1;
    const kept = take(middle);
    if (closeGaps(kept) <= budget) {
      best = kept;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  let size = best.reduce((a, b) => a + b, 0);
  for (const i of order) {
    if (size >= budget) break;
    if (best[i]) continue;
    best[i] = 1;
    size++;
  }
  return best;
}
