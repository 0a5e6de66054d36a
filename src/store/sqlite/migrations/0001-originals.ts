import type { Migration } from './migration.ts';

/**
 * Originals and what was decided about them. `meter` holds counters that triggers keep, so that whichever process or
 * later feature deletes a prune, every process sees it in `deleted_generation`.
 *
 * snapshot.encoding: 0 UTF-8, 1 UTF-16LE. snapshot.packing: 0 not looked at yet, 1 brotli, 2 stays as it is. The bytes
 * stand in a table of their own, where the compressed form is a new row at the end: a row that shrinks in its place
 * leaves its page half empty.
 * decision.prune is NULL for a text left whole; a decision with a prune expires with it. decision.body is NULL when
 * prune.body says the same.
 */
export const originals: Migration = {
  version: 1,
  up(db) {
    db.exec(`
      CREATE TABLE meter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      INSERT INTO meter VALUES ('deleted_generation', 0), ('stored_bytes', 0), ('prunes', 0), ('snapshots', 0);

      CREATE TABLE snapshot (
        id INTEGER PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        encoding INTEGER NOT NULL,
        packing INTEGER NOT NULL,
        text_bytes INTEGER NOT NULL,
        stored_bytes INTEGER NOT NULL,
        content INTEGER NOT NULL
      ) STRICT;
      CREATE TABLE content (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
      CREATE INDEX snapshot_unpacked ON snapshot (id) WHERE packing = 0;

      CREATE TABLE prune (
        id INTEGER PRIMARY KEY,
        prune_id TEXT NOT NULL UNIQUE,
        snapshot INTEGER NOT NULL REFERENCES snapshot (id),
        decision_key TEXT NOT NULL,
        body TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        expires_ms INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX prune_expiry ON prune (expires_ms);
      CREATE INDEX prune_snapshot ON prune (snapshot);

      CREATE TABLE decision (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        prune INTEGER REFERENCES prune (id) ON DELETE CASCADE,
        body TEXT,
        expires_ms INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX decision_prune ON decision (prune) WHERE prune IS NOT NULL;
      CREATE INDEX decision_expiry ON decision (expires_ms) WHERE prune IS NULL;

      CREATE TRIGGER snapshot_added AFTER INSERT ON snapshot BEGIN
        UPDATE meter SET value = value + 1 WHERE name = 'snapshots';
        UPDATE meter SET value = value + NEW.stored_bytes + 128 WHERE name = 'stored_bytes';
      END;
      CREATE TRIGGER snapshot_packed AFTER UPDATE OF stored_bytes ON snapshot BEGIN
        UPDATE meter SET value = value + NEW.stored_bytes - OLD.stored_bytes WHERE name = 'stored_bytes';
      END;
      CREATE TRIGGER snapshot_removed AFTER DELETE ON snapshot BEGIN
        DELETE FROM content WHERE id = OLD.content;
        UPDATE meter SET value = value - 1 WHERE name = 'snapshots';
        UPDATE meter SET value = value - OLD.stored_bytes - 128 WHERE name = 'stored_bytes';
      END;
      CREATE TRIGGER prune_added AFTER INSERT ON prune BEGIN
        UPDATE meter SET value = value + 1 WHERE name = 'prunes';
        UPDATE meter SET value = value + octet_length(NEW.body) + 128 WHERE name = 'stored_bytes';
      END;
      CREATE TRIGGER prune_removed AFTER DELETE ON prune BEGIN
        UPDATE meter SET value = value - 1 WHERE name = 'prunes';
        UPDATE meter SET value = value + 1 WHERE name = 'deleted_generation';
        UPDATE meter SET value = value - octet_length(OLD.body) - 128 WHERE name = 'stored_bytes';
      END;
      CREATE TRIGGER decision_added AFTER INSERT ON decision BEGIN
        UPDATE meter SET value = value + coalesce(octet_length(NEW.body), 0) + 128 WHERE name = 'stored_bytes';
      END;
      CREATE TRIGGER decision_removed AFTER DELETE ON decision BEGIN
        UPDATE meter SET value = value - coalesce(octet_length(OLD.body), 0) - 128 WHERE name = 'stored_bytes';
      END;
    `);
  },
};
