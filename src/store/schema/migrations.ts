/** One migration of a database's schema. Runs exactly once per database, inside a transaction. */
export interface Migration {
  /** Ascending; recorded in the database afterwards. */
  readonly version: number;
  /**
   * Oldest schema version whose program can use this schema, because replicas are upgraded one by one. Purely additive
   * migrations keep the previous value.
   */
  readonly worksWith: number;
  readonly sql: () => string;
}

/** Version of the first migration, which creates the whole schema. */
export const FIRST_VERSION = 108;

/** The only earlier schema that can be upgraded; `upgrade` then replaces the first migration. */
export const UPGRADED_VERSION = 107;

/** Drops the tables of removed features, and the columns that only the word index of recall had. */
export const upgrade = `
  DROP INDEX main.recall_file;
  DROP INDEX main.recall_waiting;
  ALTER TABLE main.recall DROP COLUMN file;
  ALTER TABLE main.recall DROP COLUMN indexed;
  ALTER TABLE main.recall DROP COLUMN indexed_about;
  ALTER TABLE main.recall DROP COLUMN index_bytes;
  CREATE INDEX recall_project ON main.recall (project, id);
  DROP TABLE main.tool_declaration;
  DROP TABLE main.tool_conversation;
  DROP TABLE main.tool_shelf_day;
  DROP TABLE main.tool_shelf_change;
  DROP TABLE main.ledger_step;
  ALTER TABLE main.ledger_turn DROP COLUMN corrections;
  ALTER TABLE main.ledger_turn DROP COLUMN calls_again;
  ALTER TABLE main.ledger_turn DROP COLUMN edits;
  ALTER TABLE main.ledger_turn DROP COLUMN failed_edits;
  ALTER TABLE main.ledger_turn DROP COLUMN red_tests;
  ALTER TABLE main.ledger_turn DROP COLUMN turned_green;
`;

/** A migration in Common SQL, with additional statements for SQLite and for PostgreSQL. */
interface Addition extends Omit<Migration, 'sql'> {
  readonly common: string;
  readonly sqlite?: string;
  readonly postgres?: string;
}

/**
 * The migrations after the first one, oldest first. A new table or column is a further entry: `{ version: 109,
 * worksWith: 108, common: 'CREATE TABLE main.example (…) STRICT;' }`. A released entry is never edited.
 */
export const additions: readonly Addition[] = [];
