import type { Committed, StoreBatch } from '../../core/ports.ts';
import type { Expiring } from '../lifetimes.ts';
import type { Background } from './together.ts';

/** One step of a transaction, executed and answered by the runner of a database. */
export type Step =
  | { readonly kind: 'rows'; readonly sql: string; readonly values: readonly unknown[] }
  /** The answer is the number of changed rows. */
  | { readonly kind: 'change'; readonly sql: string; readonly values: readonly unknown[] }
  /** Runs a change for each row of values. The answer is the RETURNING rows. */
  | { readonly kind: 'each'; readonly sql: string; readonly rows: readonly (readonly unknown[])[] }
  /** Waits for the transaction's turn. The answer is the time afterwards. */
  | { readonly kind: 'turn'; readonly of: string }
  /** Deletes prunes, and texts that no other prune needs. The answer is the number of deleted prunes. */
  | { readonly kind: 'erase'; readonly pruneIds: readonly string[] }
  /** Stores the originals of a batch, in SQLite only. The answer is `Committed`. */
  | { readonly kind: 'save'; readonly batch: StoreBatch }
  /** Adds numbered entries to a log; other transactions wait for their numbers until the commit. The answer is `Appended`. */
  | { readonly kind: 'append'; readonly log: string; readonly columns: string; readonly rows: Entries }
  /** Waits for transactions that append to a log, and lets none append until the commit. */
  | { readonly kind: 'holdLog'; readonly log: string };

type Entries = readonly (readonly unknown[])[];

/** Work inside a transaction, yielded step by step: SQLite runs steps synchronously, PostgreSQL awaits each answer. */
export type Steps<T> = Generator<Step, T, unknown>;

export interface WriteOptions {
  /** Maximum wait for other writers, in milliseconds. */
  readonly waitMs?: number;
  /**
   * No request waits for the write: it is committed together with others of the same event-loop turn, and SQLite skips
   * the check that the path still leads to its file.
   */
  readonly background?: Background;
}

export interface Transactions {
  /** Reads a consistent snapshot. */
  read<T>(work: (nowMs: number) => Steps<T>): Promise<T>;
  /** Commits the work, all or nothing. It may be repeated if the connection breaks. */
  write<T>(work: (nowMs: number) => Steps<T>, options?: WriteOptions): Promise<T>;
}

/** The tables of a store in Common SQL. Calls may reject with `StoreUnavailable`. */
export interface Sql extends Rows, Transactions {
  /** A transaction with a single `each`, which takes one round trip. */
  once<Row>(commonSql: string, rows: readonly (readonly unknown[])[], waitMs?: number): Promise<Row[]>;
}

/** The first row, or `null`. */
export function* one<Row>(sql: string, values: readonly unknown[] = []): Steps<Row | null> {
  return ((yield { kind: 'rows', sql, values }) as Row[])[0] ?? null;
}

export function* all<Row>(sql: string, values: readonly unknown[] = []): Steps<Row[]> {
  return (yield { kind: 'rows', sql, values }) as Row[];
}

/** The parsed JSON of the first row's `record` column, or `null`. */
export function* record<Value>(sql: string, values: readonly unknown[] = []): Steps<Value | null> {
  return (yield* records<Value>(sql, values))[0] ?? null;
}

/** Like `record`, for every row. */
export function* records<Value>(sql: string, values: readonly unknown[] = []): Steps<Value[]> {
  const rows = yield* all<{ readonly record: string }>(sql, values);
  return rows.map((row) => JSON.parse(row.record) as Value);
}

/** @returns the number of changed rows */
export function* change(sql: string, values: readonly unknown[] = []): Steps<number> {
  return (yield { kind: 'change', sql, values }) as number;
}

/**
 * Executes a change for each row of values. PostgreSQL inserts them in one statement, so with `ON CONFLICT DO UPDATE`
 * the rows must have distinct keys.
 *
 * @returns the RETURNING rows
 */
export function* each<Row>(sql: string, rows: readonly (readonly unknown[])[]): Steps<Row[]> {
  return rows.length === 0 ? [] : ((yield { kind: 'each', sql, rows }) as Row[]);
}

/** The number in the first row's `value` column; 0 without a row. */
export function* number(sql: string, values: readonly unknown[] = []): Steps<number> {
  return (yield* one<{ readonly value: number }>(sql, values))?.value ?? 0;
}

/**
 * Serialises transactions with the same name, so that reads stay valid until the commit. In SQLite, write transactions
 * are serial anyway.
 *
 * @returns the time afterwards, in epoch milliseconds
 */
export function* turn(of: string): Steps<number> {
  return (yield { kind: 'turn', of }) as number;
}

/** Wraps transactions so that their writes are serialised. */
export function writesInTurn(sql: Transactions, of: string): Transactions {
  return {
    read: (work) => sql.read(work),
    write: (work, options) =>
      sql.write(function* () {
        return yield* work(yield* turn(of));
      }, options),
  };
}

export interface Appended {
  /** Number of the last entry. */
  readonly last: number;
  /** Maximum number of entries of the log. */
  readonly keep: number;
}

/**
 * Adds entries to a log in their order. Numbers are never reused, and become visible in order and without gaps, because
 * other transactions wait until the commit.
 *
 * @param columns - comma-separated, without the number `seq`
 */
export function* append(log: string, columns: string, rows: Entries): Steps<Appended> {
  return (yield { kind: 'append', log, columns, rows }) as Appended;
}

/** Keeps other transactions from appending to a log until the commit. In SQLite, write transactions are serial anyway. */
export function* holdLog(log: string): Steps<void> {
  yield { kind: 'holdLog', log };
}

/** The insertion of an entry, in Common SQL. */
export function insertionInto(log: string, columns: string): string {
  return `INSERT INTO main.${log} (${columns}) VALUES (${columns
    .split(',')
    .map(() => '?')
    .join(', ')})`;
}

/** Deletes prunes, and texts that no other prune needs. @returns the number of deleted prunes */
export function* erase(pruneIds: readonly string[]): Steps<number> {
  return pruneIds.length === 0 ? 0 : ((yield { kind: 'erase', pruneIds }) as number);
}

/** Stores the originals of a batch. SQLite only: PostgreSQL commits them in a separate statement. */
export function* save(batch: StoreBatch): Steps<Committed> {
  return (yield { kind: 'save', batch }) as Committed;
}

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
