/** One migration of a database's schema. It runs exactly once per database, inside a transaction. */
export interface Migration {
  /** Ascending; recorded in the database afterwards. */
  readonly version: number;
  /**
   * The oldest program schema version that still works with this one: replicas are upgraded one after the other. A
   * migration that only adds keeps the previous value.
   */
  readonly worksWith: number;
  readonly sql: () => string;
}

/** The version of the first migration, which is the whole schema. Lower ones were used before the first release. */
export const FIRST_VERSION = 100;

/** A migration of both databases, in Common SQL, with what one of them needs besides. */
export interface Addition extends Omit<Migration, 'sql'> {
  readonly common: string;
  readonly sqlite?: string;
  readonly postgres?: string;
}

/**
 * The migrations after the first one, oldest first. A new table or column is a further entry:
 * `{ version: 101, worksWith: 100, common: 'CREATE TABLE main.example (…) STRICT;' }`. A released entry is never edited.
 */
export const additions: readonly Addition[] = [];
