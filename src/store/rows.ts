import type { Expiring } from './pending-uses.ts';

/**
 * A store's tables, for what both databases understand: SQL as SQLite takes it, with `main.` before the name of a table
 * (`fleet_…` goes without), `COLLATE BINARY` where an order is not the column's own, and `IN LIST(?)` for a list. Each call is
 * a statement by itself and may reject with `StoreUnavailable`.
 */
export interface Rows {
  all<Row>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Whole epoch milliseconds. */
  nowMs(): number;
  /** The expiry that counts, noted uses included. */
  expiry(kind: Expiring, id: string, storedMs: number): number;
}

const MAX_ROWS = 10_000;

/** How many rows a query is answered with that asks for so many. */
export function bounded(limit: number): number {
  return Math.min(Math.max(0, Math.trunc(limit)), MAX_ROWS);
}
