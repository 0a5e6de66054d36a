import type { Migration } from './migration.ts';

/** What was sent of messages, so that the same goes out again whatever has changed since. */
export const sent: Migration = {
  version: 7,
  up(db) {
    db.exec(`
      CREATE TABLE sent (
        id INTEGER PRIMARY KEY,
        prefix TEXT NOT NULL UNIQUE,
        body TEXT NOT NULL,
        expires_ms INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX sent_expiry ON sent (expires_ms);
    `);
  },
};
