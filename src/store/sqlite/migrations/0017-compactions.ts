import type { Migration } from './migration.ts';

/**
 * Compactions of clients: a conversation that was summarised (`continues`), and the one that goes on from the summary, `''`
 * until its first request. `tokens` is the length at which the client compacted. `summary` is a hash of the summary.
 */
export const compactions: Migration = {
  version: 17,
  up(db) {
    db.exec(`
      CREATE TABLE compaction (
        id INTEGER PRIMARY KEY,
        project TEXT NOT NULL,
        continues TEXT NOT NULL,
        conversation TEXT NOT NULL,
        client TEXT NOT NULL,
        model TEXT NOT NULL,
        session TEXT NOT NULL,
        summary TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        at_ms INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX compaction_conversation ON compaction (project, conversation);
      CREATE INDEX compaction_continues ON compaction (project, continues);
      CREATE INDEX compaction_at ON compaction (at_ms);
    `);
  },
};
