/** An item that a plan may select. */
export interface Rated {
  readonly id: string;
  /** How expendable the item is per token, at least 0; higher scores go first. */
  readonly score: number;
  /** Tokens freed by pruning the item; positive. */
  readonly tokens: number;
}

/** Pruning order: higher score first, then larger size, then id. No two items are equal. */
export function byPruningOrder(a: Rated, b: Rated): number {
  return b.score - a.score || b.tokens - a.tokens || (a.id < b.id ? -1 : 1);
}

/** The first candidates that together free the target number of tokens, or all if that is not reached. */
export function planOf<T extends Rated>(inOrder: readonly T[], target: number): { chosen: T[]; tokens: number } {
  const chosen: T[] = [];
  let tokens = 0;
  for (const candidate of inOrder) {
    if (tokens >= target) break;
    chosen.push(candidate);
    tokens += candidate.tokens;
  }
  return { chosen, tokens };
}
