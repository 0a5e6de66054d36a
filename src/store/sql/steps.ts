import type { Committed, StoreBatch } from '../../core/ports.ts';
import type { Rows } from './rows.ts';
import type { Background } from './together.ts';

/** One step of a transaction, executed and answered by the runner of a database. */
export type Step =
  | { readonly kind: 'rows'; readonly sql: string; readonly values: readonly unknown[] }
  /** The answer is the number of changed rows. */
  | { readonly kind: 'change'; readonly sql: string; readonly values: readonly unknown[] }
  /** A change for each of these rows of values. The answer is the rows of its RETURNING. */
  | { readonly kind: 'each'; readonly sql: string; readonly rows: readonly (readonly unknown[])[] }
  /** The answer is the time at which it was this transaction's turn. */
  | { readonly kind: 'turn'; readonly of: string }
  /** Deletes prunes, and their texts unless another prune needs them. The answer is the number of deleted prunes. */
  | { readonly kind: 'erase'; readonly pruneIds: readonly string[] }
  /** Stores the originals of a batch, in SQLite only. The answer is `Committed`. */
  | { readonly kind: 'save'; readonly batch: StoreBatch }
  /** Removes prunes of a project from an index that is not in the rows of `recall`. */
  | { readonly kind: 'unindex'; readonly project: string; readonly pruneIds: readonly string[] }
  /** Takes the next numbers of a log; other transactions wait for theirs until the commit. The answer is `Numbers`. */
  | { readonly kind: 'numbers'; readonly log: string; readonly count: number };

/** Work inside a transaction, yielded step by step: SQLite runs each step at once, PostgreSQL awaits each answer. */
export type Steps<T> = Generator<Step, T, unknown>;

export interface WriteOptions {
  /** How long to wait for other writers, in milliseconds. */
  readonly waitMs?: number;
  /**
   * No request waits for the write: it is committed together with others of the same turn of the event loop, and SQLite
   * does not check first that its file is still the one at the path.
   */
  readonly background?: Background;
}

export interface Transactions {
  /** Reads one consistent state. */
  read<T>(work: (nowMs: number) => Steps<T>): Promise<T>;
  /** Commits all of the work, or nothing. The work may be repeated if the connection breaks. */
  write<T>(work: (nowMs: number) => Steps<T>, options?: WriteOptions): Promise<T>;
}

/** The tables of a store in Common SQL. Calls may reject with `StoreUnavailable`. */
export interface Sql extends Rows, Transactions {
  /** A transaction of one `each`, which takes one round trip. */
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

/** As `record`, for every row. */
export function* records<Value>(sql: string, values: readonly unknown[] = []): Steps<Value[]> {
  const rows = yield* all<{ readonly record: string }>(sql, values);
  return rows.map((row) => JSON.parse(row.record) as Value);
}

/** @returns the number of changed rows */
export function* change(sql: string, values: readonly unknown[] = []): Steps<number> {
  return (yield { kind: 'change', sql, values }) as number;
}

/**
 * Executes a change for each row of values. PostgreSQL inserts them in one statement, so that the rows of an
 * `ON CONFLICT DO UPDATE` must differ in their key.
 *
 * @returns the rows of its RETURNING
 */
export function* each<Row>(sql: string, rows: readonly (readonly unknown[])[]): Steps<Row[]> {
  return rows.length === 0 ? [] : ((yield { kind: 'each', sql, rows }) as Row[]);
}

/** The number in the first row's `value` column; 0 without a row. */
export function* number(sql: string, values: readonly unknown[] = []): Steps<number> {
  return (yield* one<{ readonly value: number }>(sql, values))?.value ?? 0;
}

/**
 * Waits for other transactions of the same name, so that what this one reads stays true until it commits. In SQLite all
 * transactions that write are serial anyway.
 *
 * @returns the time afterwards, in epoch milliseconds
 */
export function* turn(of: string): Steps<number> {
  return (yield { kind: 'turn', of }) as number;
}

/** The same transactions, but writes take turns. */
export function writesInTurn(sql: Transactions, of: string): Transactions {
  return {
    read: (work) => sql.read(work),
    write: (work, options) =>
      sql.write(function* () {
        return yield* work(yield* turn(of));
      }, options),
  };
}

export interface Numbers {
  /** The last number before these. */
  readonly last: number;
  /** Maximum number of entries of the log. */
  readonly keep: number;
}

/**
 * Takes the next numbers of a log. They are never reused, and become visible in order and without gaps: others that
 * need numbers of this log wait until the commit.
 */
export function* numbers(log: string, count: number): Steps<Numbers> {
  return (yield { kind: 'numbers', log, count }) as Numbers;
}

/** Deletes prunes, and their texts unless another prune needs them. @returns the number of deleted prunes */
export function* erase(pruneIds: readonly string[]): Steps<number> {
  return pruneIds.length === 0 ? 0 : ((yield { kind: 'erase', pruneIds }) as number);
}

/** Stores the originals of a batch, in SQLite only: PostgreSQL commits them in a statement of its own. */
export function* save(batch: StoreBatch): Steps<Committed> {
  return (yield { kind: 'save', batch }) as Committed;
}

/** To be called before rows of `recall` are deleted. */
export function* unindex(project: string, pruneIds: readonly string[]): Steps<void> {
  yield { kind: 'unindex', project, pruneIds };
}
