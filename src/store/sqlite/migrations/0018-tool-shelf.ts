import type { Migration } from './migration.ts';

/**
 * Evidence of the tool shelf: a row for each declaration of a tool, by project and client; the conversations that declared
 * them, with the calls that were counted; and by day what the shelf would have saved.
 */
export const toolShelf: Migration = {
  version: 18,
  up(db) {
    db.exec(`
      CREATE TABLE tool_declaration (
        id INTEGER PRIMARY KEY,
        project TEXT NOT NULL,
        client TEXT NOT NULL,
        hash TEXT NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        saves INTEGER NOT NULL,
        conversations INTEGER NOT NULL,
        days INTEGER NOT NULL,
        last_day TEXT NOT NULL,
        calls INTEGER NOT NULL,
        last_call_ms INTEGER,
        first_ms INTEGER NOT NULL,
        dollars REAL NOT NULL,
        UNIQUE (project, client, hash)
      ) STRICT;
      CREATE TABLE tool_conversation (
        id INTEGER PRIMARY KEY,
        project TEXT NOT NULL,
        conversation TEXT NOT NULL,
        client TEXT NOT NULL,
        tools TEXT NOT NULL,
        would_save INTEGER NOT NULL,
        calls TEXT NOT NULL,
        seen_ms INTEGER NOT NULL,
        UNIQUE (project, conversation)
      ) STRICT;
      CREATE INDEX tool_conversation_seen ON tool_conversation (seen_ms);
      CREATE TABLE tool_shelf_day (
        day TEXT NOT NULL,
        project TEXT NOT NULL,
        tokens REAL NOT NULL,
        dollars REAL NOT NULL,
        PRIMARY KEY (day, project)
      ) STRICT;
    `);
  },
};
