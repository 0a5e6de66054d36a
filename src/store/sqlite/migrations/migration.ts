import type { Database } from 'better-sqlite3';

/** One step forward of the schema. `up` runs inside a transaction of its own, exactly once in a file's life. */
export interface Migration {
  /** 1, 2, 3, … without gaps; what `PRAGMA user_version` says afterwards. */
  readonly version: number;
  up(db: Database): void;
}
