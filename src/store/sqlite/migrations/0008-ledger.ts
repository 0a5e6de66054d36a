import type { Migration } from './migration.ts';

/** What requests cost and what pruning changed: one row a request for a while, sums by day for good. */
export const ledger: Migration = {
  version: 8,
  up(db) {
    db.exec(`
      CREATE TABLE ledger_turn (
        id INTEGER PRIMARY KEY,
        request_id TEXT NOT NULL UNIQUE,
        at_ms INTEGER NOT NULL,
        project TEXT NOT NULL,
        conversation TEXT NOT NULL,
        wire TEXT NOT NULL,
        model TEXT NOT NULL,
        arm TEXT NOT NULL,
        estimated INTEGER NOT NULL,
        fresh INTEGER NOT NULL,
        write5m INTEGER NOT NULL,
        write1h INTEGER NOT NULL,
        read INTEGER NOT NULL,
        output INTEGER NOT NULL,
        dollars REAL,
        dollars_without REAL,
        removed INTEGER NOT NULL,
        removed_new INTEGER NOT NULL,
        miss TEXT,
        miss_tokens INTEGER NOT NULL,
        miss_dollars REAL,
        miss_at INTEGER NOT NULL,
        regret_tokens INTEGER NOT NULL,
        regret_dollars REAL
      ) STRICT;
      CREATE INDEX ledger_turn_conversation ON ledger_turn (conversation, id);
      CREATE INDEX ledger_turn_time ON ledger_turn (at_ms);
      CREATE TABLE ledger_sum (
        day TEXT NOT NULL,
        project TEXT NOT NULL,
        slice TEXT NOT NULL,
        key TEXT NOT NULL,
        field TEXT NOT NULL,
        value REAL NOT NULL,
        PRIMARY KEY (day, project, slice, key, field)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE ledger_step (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project TEXT NOT NULL,
        tool TEXT NOT NULL,
        kind TEXT NOT NULL,
        step INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        texts INTEGER NOT NULL,
        regretted INTEGER NOT NULL
      ) STRICT;
    `);
  },
};
