/** An item that a plan may select. */
export interface Rated {
  readonly id: string;
  /** How expendable it is per token, 0 or more; the highest goes first. */
  readonly score: number;
  /** Tokens freed by pruning it; positive. */
  readonly tokens: number;
}

/** Order of pruning: higher score first, then the larger one, then by id. No two are equal. */
export function byPruningOrder(a: Rated, b: Rated): number {
  return b.score - a.score || b.tokens - a.tokens || (a.id < b.id ? -1 : 1);
}

/** The first candidates that together free the target number of tokens; all if they free less. */
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
