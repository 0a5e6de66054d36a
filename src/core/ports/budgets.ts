/** Dollars that a key or a project may use in a month (UTC). */
export interface Budget {
  readonly of: 'key' | 'project';
  /** Id of the key, or name of the project. */
  readonly name: string;
  readonly dollars: number;
}

/** A request that goes beyond a budget. */
export interface OverBudget {
  readonly code: 'key_dollars_used_up' | 'project_dollars_used_up';
  /** When the next month begins, in seconds from now, at least 1. */
  readonly retryAfterS: number;
}

/** Answers from memory, so that a request waits for nothing. */
export interface BudgetGate {
  /** Whether there is any budget. */
  readonly isNeeded: boolean;
  /** Whether the key or the project has a budget. */
  covers(keyId: string | undefined, project: string): boolean;
  /** The budget that is used up, or `null`. */
  over(keyId: string | undefined, project: string): OverBudget | null;
}
