/** Dollars that a key or a project may use in a month (UTC). */
export interface Budget {
  readonly of: 'key' | 'project';
  /** Id of the key, or name of the project. */
  readonly name: string;
  readonly dollars: number;
}

/** A request that exceeds a budget. */
export interface OverBudget {
  readonly code: 'key_dollars_used_up' | 'project_dollars_used_up';
  /** When the next month begins, or when requests under way will be billed, in seconds from now, at least 1. */
  readonly retryAfterS: number;
}

/** Answers from memory, so that no request waits. */
export interface BudgetGate {
  /** Whether there is any budget. */
  readonly isNeeded: boolean;
  /** Whether the key or the project has a budget. */
  covers(keyId: string | undefined, project: string): boolean;
  /**
   * Counts a request as under way until the returned function is called. It is expected to cost as much as recent ones
   * of its key and project.
   */
  enter(keyId: string | undefined, project: string): () => void;
  /** The budget that is used up by what was billed and what is under way, or `null`. */
  over(keyId: string | undefined, project: string): OverBudget | null;
}
