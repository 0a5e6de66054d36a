import type { Database } from 'better-sqlite3';

/** One migration of the schema. `up` runs inside its own transaction, exactly once per file. */
export interface Migration {
  /** 1, 2, 3, … without gaps; the value of `PRAGMA user_version` afterwards. */
  readonly version: number;
  up(db: Database): void;
}
