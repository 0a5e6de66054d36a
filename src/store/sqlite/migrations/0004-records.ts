import type { Migration } from './migration.ts';

/** What agents said and did, and the answers to calls that their clients gave a key. */
export const records: Migration = {
  version: 4,
  up(db) {
    db.exec(`
      CREATE TABLE child_log (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        ts_ms INTEGER NOT NULL,
        child_id TEXT NOT NULL,
        run_id TEXT,
        stream TEXT NOT NULL,
        message TEXT NOT NULL,
        parsed TEXT
      ) STRICT;
      CREATE INDEX child_log_child ON child_log (child_id, seq);

      CREATE TABLE reply (
        id INTEGER PRIMARY KEY,
        tool TEXT NOT NULL,
        key TEXT NOT NULL,
        args_hash TEXT NOT NULL,
        text TEXT,
        bytes INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL,
        UNIQUE (tool, key)
      ) STRICT;
      CREATE INDEX reply_expiry ON reply (expires_ms, bytes);
    `);
  },
};
