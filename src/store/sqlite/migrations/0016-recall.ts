import type { Migration } from './migration.ts';

/**
 * Tool results that can be searched. A row stands for one text within one project, with the newest call that showed it, and
 * lives as long as its prune. `file` is the last part of the path, `about` what the call asked for, which is indexed too. `indexed`: 0 waits, 1 is in the index, 2 is in it under `indexed_about` and waits to be
 * indexed anew. `newer` is the row of a later result of the same call.
 *
 * The index holds no texts (`content=''`) and no positions: which lines match is read from the original. An entry is taken
 * out by its text, before that is deleted (`sqlite/recall-index.ts`); `secure-delete` clears it from the pages as well.
 * The indexer merges the index with each of its steps: FTS5 takes no more than 2,000 pieces.
 */
export const recall: Migration = {
  version: 16,
  up(db) {
    db.exec(`
      CREATE TABLE recall (
        id INTEGER PRIMARY KEY,
        project TEXT NOT NULL,
        prune INTEGER NOT NULL REFERENCES prune (id) ON DELETE CASCADE,
        tool TEXT NOT NULL,
        path TEXT NOT NULL,
        file TEXT NOT NULL,
        about TEXT NOT NULL,
        call TEXT NOT NULL,
        seen_ms INTEGER NOT NULL,
        chars INTEGER NOT NULL,
        newer INTEGER,
        indexed INTEGER NOT NULL DEFAULT 0,
        indexed_about TEXT NOT NULL DEFAULT '',
        index_bytes INTEGER NOT NULL DEFAULT 0,
        UNIQUE (project, prune)
      ) STRICT;
      CREATE INDEX recall_prune ON recall (prune);
      CREATE INDEX recall_call ON recall (project, call) WHERE call <> '';
      CREATE INDEX recall_tool ON recall (project, tool);
      CREATE INDEX recall_path ON recall (project, path);
      CREATE INDEX recall_file ON recall (project, file) WHERE file <> '';
      CREATE INDEX recall_waiting ON recall (id) WHERE indexed <> 1;
      CREATE TABLE recall_seen (
        recall INTEGER NOT NULL REFERENCES recall (id) ON DELETE CASCADE,
        conversation TEXT NOT NULL,
        task TEXT NOT NULL,
        ordinal INTEGER NOT NULL,
        PRIMARY KEY (recall, conversation, task)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX recall_seen_conversation ON recall_seen (conversation);
      CREATE INDEX recall_seen_task ON recall_seen (task, conversation) WHERE task <> '';

      CREATE VIRTUAL TABLE recall_word USING fts5 (words, content='', detail=none, columnsize=0, tokenize='ascii');
      CREATE VIRTUAL TABLE recall_name USING fts5 (names, content='', detail=none, columnsize=0, tokenize='trigram');
      CREATE VIRTUAL TABLE recall_term USING fts5vocab (recall_word, row);
      INSERT INTO recall_word (recall_word, rank) VALUES ('secure-delete', 1), ('automerge', 0), ('crisismerge', 64);
      INSERT INTO recall_name (recall_name, rank) VALUES ('secure-delete', 1), ('automerge', 0), ('crisismerge', 64);

      INSERT INTO meter VALUES ('recalled', 0), ('recalled_chars', 0);
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
    `);
  },
};
