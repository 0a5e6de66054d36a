import type { Migration } from './migration.ts';

/**
 * Keys by the hash of their text, what is counted of them, and which projects an original belongs to. Where no keys are
 * asked for, nothing stands in these tables, and `event.project` is NULL.
 */
export const keys: Migration = {
  version: 9,
  up(db) {
    db.exec(`
      CREATE TABLE access_key (
        id TEXT PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        projects TEXT NOT NULL,
        requests_per_minute INTEGER,
        tokens_per_day INTEGER,
        created_ms INTEGER NOT NULL,
        expires_ms INTEGER,
        revoked_ms INTEGER
      ) STRICT;
      CREATE TABLE key_count (
        key TEXT NOT NULL REFERENCES access_key (id) ON DELETE CASCADE,
        span TEXT NOT NULL,
        at INTEGER NOT NULL,
        used INTEGER NOT NULL,
        most INTEGER NOT NULL,
        PRIMARY KEY (key, span)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE prune_owner (
        prune INTEGER NOT NULL REFERENCES prune (id) ON DELETE CASCADE,
        project TEXT NOT NULL,
        PRIMARY KEY (prune, project)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX prune_owner_project ON prune_owner (project, prune);
      ALTER TABLE event ADD COLUMN project TEXT;
      CREATE INDEX event_project ON event (project, seq) WHERE project IS NOT NULL;

      INSERT INTO meter VALUES ('key_generation', 0), ('prunes_adopted', 0),
        ('store_id', abs(random() % 9007199254740991));
      CREATE TRIGGER access_key_added AFTER INSERT ON access_key BEGIN
        UPDATE meter SET value = value + 1 WHERE name = 'key_generation';
      END;
      CREATE TRIGGER access_key_changed AFTER UPDATE ON access_key BEGIN
        UPDATE meter SET value = value + 1 WHERE name = 'key_generation';
      END;
      CREATE TRIGGER access_key_removed AFTER DELETE ON access_key BEGIN
        UPDATE meter SET value = value + 1 WHERE name = 'key_generation';
      END;
    `);
  },
};
