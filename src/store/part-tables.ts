import type { MovedRow } from './move/tables.ts';
import type { Steps } from './sql/steps.ts';

/**
 * The tables of an optional part. A store creates them when it is opened with them for the first time, whether the part
 * is on or off.
 */
export interface PartTables {
  /** Definitions in Common SQL. */
  readonly common: string;
  /** Additional SQL for SQLite only, such as triggers. */
  readonly sqlite: string;
  /** The same for PostgreSQL; loaded only for it. */
  readonly postgres: () => Promise<string>;
  /** As `movedTables`, for `store move`. The first one shows whether a store has the tables of the part. */
  readonly moved: readonly [MovedRow, ...MovedRow[]];
  /** Tables that number their rows, with the numbered column. */
  readonly numbered: Readonly<Record<string, 'id' | 'seq'>>;
  /** Statements in Common SQL that follow a move: they set what no trigger maintains. */
  readonly afterMove: readonly string[];
  /** Deletes what is known of child agents whose conversations are erased, except of running ones. */
  eraseChildren?(childIds: readonly string[]): Steps<void>;
  /** Removes everything from which an erased project, conversation or payer could be recognised. */
  eraseNames?(subject: ErasedNames): Steps<void>;
  /**
   * Deletes rows that are too old or too many, at most `limit`.
   *
   * @param ttlMs - retention of the ledger's rows, if one is set
   * @returns the number of deleted rows
   */
  sweep?(nowMs: number, ttlMs: number | null, limit: number): Steps<number>;
}

/** What is erased: some or `all` conversations of a project, or the link to a payer (`key_id`). */
export type ErasedNames =
  | { readonly project: string; readonly conversations: readonly string[] | 'all' }
  | { readonly payer: string };
