import type { Migration } from './migration.ts';

/** What happened and what is to be left alone. `seq` is never given twice, even after the newest events were deleted. */
export const history: Migration = {
  version: 2,
  up(db) {
    db.exec(`
      CREATE TABLE served (
        id INTEGER PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        expires_ms INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX served_expiry ON served (expires_ms);

      CREATE TABLE left_alone (
        id INTEGER PRIMARY KEY,
        prefix_hash TEXT NOT NULL UNIQUE,
        expires_ms INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX left_alone_expiry ON left_alone (expires_ms);

      CREATE TABLE event (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        ts_ms INTEGER NOT NULL,
        kind TEXT NOT NULL,
        level TEXT NOT NULL,
        run_id TEXT NOT NULL,
        op_id TEXT,
        payload TEXT NOT NULL
      ) STRICT;
      CREATE INDEX event_run ON event (run_id, seq);

      CREATE TABLE usage (
        day TEXT NOT NULL,
        model TEXT NOT NULL,
        tool TEXT NOT NULL,
        requests INTEGER NOT NULL,
        candidates INTEGER NOT NULL,
        pruned INTEGER NOT NULL,
        tokens_before INTEGER NOT NULL,
        tokens_after INTEGER NOT NULL,
        PRIMARY KEY (day, model, tool)
      ) STRICT, WITHOUT ROWID;
    `);
  },
};
