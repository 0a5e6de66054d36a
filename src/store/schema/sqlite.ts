import type { PartTables } from '../part-tables.ts';
import { sqliteDefinitions } from '../sql/common-sql.ts';
import { RECALL_FILTER } from './side-tables.ts';
import { TABLES } from './tables.ts';

/** The schema of a SQLite file, without the tables of parts. */
export function sqliteSchema(): string {
  return [TEXTS, sqliteDefinitions(TABLES), COUNTING, RECALL_COUNTING].join('');
}

/** What the upgrade of an earlier schema does before `upgrade`: the word index of recall goes. */
export function sqliteUpgrade(): string {
  return `
  DROP TABLE recall_term;
  DROP TABLE recall_word;
  DROP TABLE recall_name;
  DROP TRIGGER recall_added;
  DROP TRIGGER recall_indexed;
  DROP TRIGGER recall_removed;
  UPDATE meter SET value = value - (SELECT coalesce(sum(index_bytes), 0) FROM recall) WHERE name = 'stored_bytes';
  DELETE FROM meter WHERE name IN ('recalled', 'recalled_chars');
  ${sqliteDefinitions(RECALL_FILTER)}${RECALL_COUNTING}`;
}

/** The tables of a part in a SQLite file. */
export function sqlitePart({ common, sqlite }: PartTables): string {
  return sqliteDefinitions(common) + sqlite;
}

/**
 * Original texts. `encoding`: 0 UTF-8, 1 UTF-16LE. `packing`: 0 not examined yet, 1 brotli, 2 stays uncompressed, 3
 * deflated. The bytes are in a separate table. The compressed form is appended there as a new row, because a row that
 * shrinks in place leaves its page half empty.
 */
const TEXTS = `
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
  CREATE TABLE conversation_bytes (conversation TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/** Triggers that maintain the counters, so that each process sees deletions by others. */
const COUNTING = `
  INSERT INTO meter VALUES ('store_id', abs(random() % 9007199254740991));
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
  CREATE TRIGGER charge_added AFTER INSERT ON charge BEGIN
    INSERT INTO conversation_bytes VALUES (NEW.conversation, NEW.bytes)
      ON CONFLICT (conversation) DO UPDATE SET bytes = bytes + excluded.bytes;
  END;
  CREATE TRIGGER charge_changed AFTER UPDATE OF bytes ON charge BEGIN
    UPDATE conversation_bytes SET bytes = bytes + NEW.bytes - OLD.bytes WHERE conversation = NEW.conversation;
  END;
  CREATE TRIGGER charge_removed AFTER DELETE ON charge BEGIN
    UPDATE conversation_bytes SET bytes = bytes - OLD.bytes WHERE conversation = OLD.conversation;
    DELETE FROM conversation_bytes WHERE conversation = OLD.conversation AND bytes <= 0;
  END;
  CREATE TRIGGER charge_packed AFTER UPDATE OF stored_bytes ON snapshot BEGIN
    UPDATE charge SET bytes = NEW.stored_bytes WHERE prune IN (SELECT id FROM prune WHERE snapshot = NEW.id);
  END;
  CREATE TRIGGER directive_added AFTER INSERT ON directive BEGIN
    UPDATE meter SET value = value + 1 WHERE name IN ('directives', 'directive_generation');
    INSERT INTO directive_generation
      VALUES (NEW.project, (SELECT value FROM meter WHERE name = 'directive_generation'))
      ON CONFLICT (project) DO UPDATE SET generation = excluded.generation;
  END;
  CREATE TRIGGER directive_removed AFTER DELETE ON directive BEGIN
    UPDATE meter SET value = value - 1 WHERE name = 'directives';
    UPDATE meter SET value = value + 1 WHERE name = 'directive_generation';
    INSERT INTO directive_generation
      VALUES (OLD.project, (SELECT value FROM meter WHERE name = 'directive_generation'))
      ON CONFLICT (project) DO UPDATE SET generation = excluded.generation;
  END;
  CREATE TRIGGER access_key_added AFTER INSERT ON access_key BEGIN
    UPDATE meter SET value = value + 1 WHERE name = 'key_generation';
  END;
  CREATE TRIGGER access_key_changed AFTER UPDATE ON access_key BEGIN
    UPDATE meter SET value = value + 1 WHERE name = 'key_generation';
  END;
  CREATE TRIGGER access_key_removed AFTER DELETE ON access_key BEGIN
    UPDATE meter SET value = value + 1 WHERE name = 'key_generation';
  END;
  CREATE TRIGGER key_change_on_insert AFTER INSERT ON access_key BEGIN
    UPDATE meter SET value = value + 1 WHERE name = 'key_generation';
    INSERT INTO key_change VALUES (NEW.id, (SELECT value FROM meter WHERE name = 'key_generation'))
      ON CONFLICT (key) DO UPDATE SET number = excluded.number;
  END;
  CREATE TRIGGER key_change_on_update AFTER UPDATE ON access_key BEGIN
    UPDATE meter SET value = value + 1 WHERE name = 'key_generation';
    INSERT INTO key_change VALUES (NEW.id, (SELECT value FROM meter WHERE name = 'key_generation'))
      ON CONFLICT (key) DO UPDATE SET number = excluded.number;
  END;
`;

const RECALL_COUNTING = `
  CREATE TRIGGER recall_filter_added AFTER INSERT ON recall_filter BEGIN
    UPDATE meter SET value = value + length(NEW.data) WHERE name = 'stored_bytes';
  END;
  CREATE TRIGGER recall_filter_removed AFTER DELETE ON recall_filter BEGIN
    UPDATE meter SET value = value - length(OLD.data) WHERE name = 'stored_bytes';
  END;
  CREATE TRIGGER recall_added AFTER INSERT ON recall BEGIN
    UPDATE meter SET value = value + 256 WHERE name = 'stored_bytes';
  END;
  CREATE TRIGGER recall_removed AFTER DELETE ON recall BEGIN
    UPDATE meter SET value = value - 256 WHERE name = 'stored_bytes';
    UPDATE recall SET newer = OLD.newer WHERE project = OLD.project AND call = OLD.call AND call <> '' AND newer = OLD.id;
  END;
`;
