import type { TokenCounts } from './ledger.ts';

/** Dollars that a key or a project may use in a month (UTC). */
export interface Budget {
  readonly of: 'key' | 'project';
  /** Id of the key, or name of the project. */
  readonly name: string;
  readonly dollars: number;
}

/** A request that exceeds a budget. */
export interface OverBudget {
  readonly code: 'key_dollars_used_up' | 'project_dollars_used_up' | 'first_bill_awaited';
  /** When the next month begins, or when requests under way will be billed, in seconds from now, at least 1. */
  readonly retryAfterS: number;
}

/** The price that a request is expected to be billed at. */
export interface Quote {
  /** What the input of a request costs at most if nothing of it is read from a cache, in dollars. */
  inputDollars(tokens: number): number;
  dollarsOf(tokens: TokenCounts): number;
}

/** A request that wants to use a budget. */
export interface BudgetRequest {
  readonly requestId: string;
  readonly keyId: string | undefined;
  readonly project: string;
  /** Its own size in dollars, at least what its input costs. */
  readonly dollars: number;
  /** Fires when its client disconnects. */
  readonly signal: AbortSignal;
}

/** The place of a request in its budgets. */
export interface Reservation {
  /**
   * Replaces the expected dollars by the actual ones. They count until the ledger has billed the request. Only the first
   * call has an effect.
   *
   * @param isBilled - whether the request shows what requests cost; an error answer does not
   */
  settle(dollars: number, isBilled: boolean): void;
}

/** Answers from memory, so that no request waits, except for the first bill of a key or a project. */
export interface BudgetGate {
  /** Whether there is any budget. */
  readonly isNeeded: boolean;
  /** Whether the key or the project has a budget. */
  covers(keyId: string | undefined, project: string): boolean;
  /**
   * The price of a request that names these models: the highest of their prices. If none of them has a price, it is the
   * ceiling, or `null` if such requests are refused.
   */
  quote(models: readonly string[], cloud: string | undefined): Quote | null;
  /** The price of a forwarded request: of the first model that has a price, else the ceiling. */
  billed(models: readonly string[], cloud: string | undefined): Quote;
  /**
   * Reserves dollars for a request: as many as the largest recent bill of its key or project, and at least its own size.
   * Until the first bill is known, requests wait for each other. Never rejects.
   */
  enter(request: BudgetRequest): Promise<Reservation | OverBudget>;
}
