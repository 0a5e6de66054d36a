import type { Expiring } from '../lifetimes.ts';

/** Reads of a store's tables in Common SQL. Each call is its own statement and may reject with `StoreUnavailable`. */
export interface Rows {
  all<Row>(commonSql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Current time in whole epoch milliseconds. */
  nowMs(): number;
  /** The effective expiry, pending uses included. */
  expiry(kind: Expiring, id: string, storedMs: number): number;
}

const MAX_ROWS = 10_000;

/** Clamps the requested number of rows. */
export function bounded(limit: number): number {
  return Math.min(Math.max(0, Math.trunc(limit)), MAX_ROWS);
}
