import type { MovedRow } from './move/tables.ts';
import type { Steps } from './sql/steps.ts';

/** The tables of an optional part. Created when a store is first opened with them, whether the part is on or off. */
export interface PartTables {
  /** Definitions in Common SQL. */
  readonly common: string;
  /** Additional SQL for SQLite, such as triggers. */
  readonly sqlite: string;
  /** Additional SQL for PostgreSQL; loaded only if needed. */
  readonly postgres: () => Promise<string>;
  /**
   * Tables for `store move`, as in `movedTables`. The presence of the first one shows whether a store has the part's
   * tables.
   */
  readonly moved: readonly [MovedRow, ...MovedRow[]];
  /** Tables with numbered rows, and the numbered column. */
  readonly numbered: Readonly<Record<string, 'id' | 'seq'>>;
  /** Statements in Common SQL to run after a move, for data that no trigger maintains. */
  readonly afterMove: readonly string[];
  /** Deletes the data of child agents whose conversations are erased, except running ones. */
  eraseChildren?(childIds: readonly string[]): Steps<void>;
  /** Removes everything that identifies an erased project, conversation or payer. */
  eraseNames?(subject: ErasedNames): Steps<void>;
  /**
   * Deletes rows beyond age or count limits, at most `limit`.
   *
   * @param ttlMs - retention of ledger rows, if set
   * @returns the number of deleted rows
   */
  sweep?(nowMs: number, ttlMs: number | null, limit: number): Steps<number>;
  /** Deletes texts of a project's conversations without requests since `beforeMs`, at most `limit`. @returns their number */
  expireTexts?(project: string, beforeMs: number, limit: number): Steps<number>;
}

/** The subject of an erasure: some or `all` conversations of a project, or the link to a payer (`key_id`). */
type ErasedNames =
  | { readonly project: string; readonly conversations: readonly string[] | 'all' }
  | { readonly payer: string };
