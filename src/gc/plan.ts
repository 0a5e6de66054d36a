/** What a plan chooses from. */
export interface Rated {
  readonly id: string;
  /** How little each token of it is worth, 0 or more: higher goes sooner. */
  readonly score: number;
  /** What its pruning frees; more than 0. */
  readonly tokens: number;
}

/** Compares candidates by who goes first: the higher score, of equals the larger one, then by id. Two never tie. */
export function goesFirst(a: Rated, b: Rated): number {
  return b.score - a.score || b.tokens - a.tokens || (a.id < b.id ? -1 : 1);
}

/** Those that go first until they free a number of tokens, in that order; all of them when they free less. */
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
