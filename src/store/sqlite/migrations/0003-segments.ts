import type { Migration } from './migration.ts';

/**
 * What conversations are made of, and what was asked of single parts; no texts. `about`, `mentions` and `edited` are
 * lists of 32-bit keys. A directive with a scope belongs to a step that the proxy took by itself and holds where the
 * step does. Whoever changes directives moves `directive_generation` and the project's own `generation` on, so that
 * every process sees it.
 */
export const segments: Migration = {
  version: 3,
  up(db) {
    db.exec(`
      CREATE TABLE conversation (
        id INTEGER PRIMARY KEY,
        project TEXT NOT NULL,
        name TEXT NOT NULL,
        task TEXT NOT NULL,
        turns INTEGER NOT NULL,
        base_turn INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        seen_ms INTEGER NOT NULL,
        UNIQUE (project, name)
      ) STRICT;
      CREATE INDEX conversation_seen ON conversation (project, seen_ms);
      CREATE INDEX conversation_expiry ON conversation (seen_ms);

      CREATE TABLE segment (
        id INTEGER PRIMARY KEY,
        project TEXT NOT NULL,
        name TEXT NOT NULL,
        conversation INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
        task TEXT NOT NULL,
        ordinal INTEGER NOT NULL,
        first_turn INTEGER NOT NULL,
        seen_turn INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        role TEXT NOT NULL,
        type TEXT NOT NULL,
        effect TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        lines INTEGER NOT NULL,
        tool TEXT NOT NULL,
        path TEXT NOT NULL,
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        call_key INTEGER NOT NULL,
        about BLOB NOT NULL,
        mentions BLOB NOT NULL,
        edited BLOB NOT NULL,
        UNIQUE (project, name)
      ) STRICT;
      CREATE INDEX segment_order ON segment (conversation, ordinal, id);
      CREATE TABLE segment_prune (
        segment INTEGER NOT NULL REFERENCES segment (id) ON DELETE CASCADE,
        prune_id TEXT NOT NULL,
        PRIMARY KEY (segment, prune_id)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX segment_prune_id ON segment_prune (prune_id);

      CREATE TABLE directive (
        id INTEGER PRIMARY KEY,
        project TEXT NOT NULL,
        segment TEXT NOT NULL,
        scope TEXT NOT NULL,
        action TEXT NOT NULL,
        up_to INTEGER NOT NULL,
        UNIQUE (project, segment, scope)
      ) STRICT;
      CREATE TABLE step (
        id INTEGER PRIMARY KEY,
        project TEXT NOT NULL,
        scope TEXT NOT NULL,
        conversation TEXT NOT NULL,
        messages INTEGER NOT NULL,
        UNIQUE (project, scope)
      ) STRICT;
      CREATE TABLE directive_generation (
        project TEXT PRIMARY KEY,
        generation INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;

      INSERT INTO meter VALUES ('directive_generation', 0), ('directives', 0);
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
    `);
  },
};
