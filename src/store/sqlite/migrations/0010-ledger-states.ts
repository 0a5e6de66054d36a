import type { Migration } from './migration.ts';

/** What the ledger knows of conversations and models from request to request, and requests that wait for those before them. */
export const ledgerStates: Migration = {
  version: 10,
  up(db) {
    db.exec(`
      CREATE TABLE ledger_state (
        name TEXT NOT NULL PRIMARY KEY,
        lineage TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        version INTEGER NOT NULL,
        data TEXT NOT NULL
      ) STRICT;
      CREATE INDEX ledger_state_lineage ON ledger_state (lineage, at_ms) WHERE lineage <> '';
      CREATE INDEX ledger_state_time ON ledger_state (at_ms);
      CREATE TABLE ledger_waiting (
        id INTEGER PRIMARY KEY,
        request_id TEXT NOT NULL UNIQUE,
        since_ms INTEGER NOT NULL,
        names TEXT NOT NULL,
        lineage TEXT NOT NULL,
        data TEXT NOT NULL
      ) STRICT;
    `);
  },
};
