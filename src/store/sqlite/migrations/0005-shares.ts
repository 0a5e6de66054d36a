import type { Migration } from './migration.ts';

/**
 * What the originals of each conversation take up. A prune is charged to the conversation that stored it first, with the
 * bytes of its text as they lie in the file.
 */
export const shares: Migration = {
  version: 5,
  up(db) {
    db.exec(`
      CREATE TABLE conversation_bytes (conversation TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE charge (
        prune INTEGER PRIMARY KEY REFERENCES prune (id) ON DELETE CASCADE,
        conversation TEXT NOT NULL,
        bytes INTEGER NOT NULL
      ) STRICT;

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
    `);
  },
};
