import type { PartTables } from '../part-tables.ts';
import { sqliteDefinitions } from '../sql/common-sql.ts';
import { TABLES } from './tables.ts';

/** The schema of a SQLite file, without the tables of parts. */
export function sqliteSchema(): string {
  return [TEXTS, sqliteDefinitions(TABLES), INDEX, COUNTING].join('');
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

/**
 * The recall index, without texts (`content=''`) or positions: matching lines are located in the original. Removing an
 * entry requires its text, so it precedes the text's deletion (`sqlite/recall-index.ts`); `secure-delete` also clears
 * the pages. The indexer merges after each step, because FTS5 allows at most 2,000 segments.
 */
const INDEX = `
  CREATE VIRTUAL TABLE recall_word USING fts5 (words, content='', detail=none, columnsize=0, tokenize='ascii');
  CREATE VIRTUAL TABLE recall_name USING fts5 (names, content='', detail=none, columnsize=0, tokenize='trigram');
  CREATE VIRTUAL TABLE recall_term USING fts5vocab (recall_word, row);
  INSERT INTO recall_word (recall_word, rank) VALUES ('secure-delete', 1), ('automerge', 0), ('crisismerge', 64);
  INSERT INTO recall_name (recall_name, rank) VALUES ('secure-delete', 1), ('automerge', 0), ('crisismerge', 64);
`;

/** Triggers that maintain the counters, so that each process sees deletions by others. */
const COUNTING = `
  INSERT INTO meter VALUES
    ('store_id', abs(random() % 9007199254740991)), ('recalled', 0), ('recalled_chars', 0);
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
  CREATE TRIGGER recall_added AFTER INSERT ON recall BEGIN
    UPDATE meter SET value = value + 1 WHERE name = 'recalled';
    UPDATE meter SET value = value + NEW.chars WHERE name = 'recalled_chars';
    UPDATE meter SET value = value + NEW.index_bytes + 256 WHERE name = 'stored_bytes';
  END;
  CREATE TRIGGER recall_indexed AFTER UPDATE OF index_bytes ON recall BEGIN
    UPDATE meter SET value = value + NEW.index_bytes - OLD.index_bytes WHERE name = 'stored_bytes';
  END;
  CREATE TRIGGER recall_removed AFTER DELETE ON recall BEGIN
    UPDATE meter SET value = value - 1 WHERE name = 'recalled';
    UPDATE meter SET value = value - OLD.chars WHERE name = 'recalled_chars';
    UPDATE meter SET value = value - OLD.index_bytes - 256 WHERE name = 'stored_bytes';
    UPDATE recall SET newer = OLD.newer WHERE project = OLD.project AND call = OLD.call AND call <> '' AND newer = OLD.id;
  END;
`;
