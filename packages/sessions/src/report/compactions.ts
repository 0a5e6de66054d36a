/** Context size of a request, and number of its tokens that pruning would have removed. */
export interface RequestSize {
  readonly tokens: number;
  readonly removed: number;
  /** The identical list while the history continues. */
  readonly history: readonly unknown[];
}

/** Minimum share of its size that a restarted history has lost. */
const LEAST_LOSS = 0.3;

/**
 * Number of compactions in a conversation, and an estimate of that number with cuts: assuming the same growth,
 * compaction at the largest size reached, and reduction to the largest remaining size.
 */
export function compactionsOf(sizes: readonly RequestSize[]): { count: number; withCuts: number } {
  let count = 0;
  let limit = 0;
  let left = 0;
  for (const [i, size] of sizes.entries()) {
    const before = sizes[i - 1];
    if (!before || !isCompaction(before, size)) continue;
    count++;
    limit = Math.max(limit, before.tokens);
    left = Math.max(left, size.tokens);
  }
  if (count === 0) return { count: 0, withCuts: 0 };
  let withCuts = 0;
  let context = 0;
  for (const [i, size] of sizes.entries()) {
    const before = sizes[i - 1];
    if (before === undefined) context = size.tokens - size.removed;
    else if (!isCompaction(before, size)) {
      const kept = before.history === size.history ? size.removed - before.removed : 0;
      context += Math.max(0, size.tokens - before.tokens - kept);
    }
    if (context < limit) continue;
    withCuts++;
    context = left;
  }
  return { count, withCuts: Math.min(count, withCuts) };
}

function isCompaction(before: RequestSize, { history, tokens }: RequestSize): boolean {
  return history !== before.history && tokens < before.tokens * (1 - LEAST_LOSS);
}
