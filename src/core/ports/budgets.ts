import type { ReportedUsage } from './request-facts.ts';

/** Monthly limit (UTC) of a key or a project, in dollars. */
export interface Budget {
  readonly of: 'key' | 'project';
  /** Id of the key, or name of the project. */
  readonly name: string;
  readonly dollars: number;
}

/** Result for a request that would exceed a budget. */
export interface OverBudget {
  readonly code: 'key_dollars_used_up' | 'project_dollars_used_up' | 'first_bill_awaited';
  /** Seconds until the next month begins, or until in-flight requests are billed; at least 1. */
  readonly retryAfterS: number;
}

/** The price that a request is expected to be billed at. */
export interface Quote {
  /** Upper bound for the cost of the input, assuming no cache reads, in dollars. */
  inputDollars(tokens: number): number;
}

/** A request that needs a reservation in a budget. */
export interface BudgetRequest {
  readonly requestId: string;
  readonly keyId: string | undefined;
  readonly project: string;
  /** Estimated cost of the request itself in dollars, at least that of its input. */
  readonly dollars: number;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** A request's reservation in its budgets. */
export interface Reservation {
  /**
   * Replaces the reserved dollars by the actual ones, which count until the ledger has billed the request. Only the
   * first call has an effect.
   *
   * @param isBilled - whether the request is representative of the usual cost; an error answer is not
   */
  settle(dollars: number, isBilled: boolean): void;
}

/** Answers from memory without delay, except while the first bill of a key or project is unknown. */
export interface BudgetGate {
  /** Whether any budget exists. */
  readonly isNeeded: boolean;
  /** Whether the key or the project has a budget. */
  covers(keyId: string | undefined, project: string): boolean;
  /**
   * The highest price among the models that a request names. If none has a price: the ceiling.
   */
  quote(models: readonly string[], cloud: string | undefined): Quote;
  /**
   * The dollars of an answered request as the ledger bills them: by the first model with a price and as it was served;
   * without a price by the cost that the answer reports, otherwise at the ceiling.
   */
  billed(models: readonly string[], cloud: string | undefined, usage: ReportedUsage): number;
  /**
   * Reserves dollars for a request: the largest recent bill of its key or project, but at least the request's own
   * estimate. Until the first bill is known, requests run one at a time. Never rejects.
   */
  enter(request: BudgetRequest): Promise<Reservation | OverBudget>;
  /** Like `enter`, at once: `null` if the request has to wait, or is refused. */
  enterNow(request: Omit<BudgetRequest, 'signal'>): Reservation | null;
}
