/** One migration of a database's schema. Runs exactly once per database, inside a transaction. */
export interface Migration {
  /** Ascending; recorded in the database afterwards. */
  readonly version: number;
  /**
   * Oldest schema version whose program can use this schema, because replicas are upgraded one by one. Purely additive
   * migrations keep the previous value.
   */
  readonly worksWith: number;
  readonly sql: () => string;
}

/** Version of the first migration, which creates the whole schema. Lower ones were used before the first release. */
export const FIRST_VERSION = 100;

/** A migration in Common SQL, with additional statements for SQLite; those for PostgreSQL are in a separate file. */
export interface Addition extends Omit<Migration, 'sql'> {
  readonly common: string;
  readonly sqlite?: string;
}

/**
 * The migrations after the first one, oldest first. A new table or column is a further entry: `{ version: 101,
 * worksWith: 100, common: 'CREATE TABLE main.example (…) STRICT;' }`. A released entry is never edited.
 */
export const additions: readonly Addition[] = [
  {
    // shelved tools, when that changed, what conversations began with, and the savings
    version: 101,
    worksWith: 100,
    common: `
  ALTER TABLE main.tool_declaration ADD COLUMN shelved_ms INTEGER;
  ALTER TABLE main.tool_shelf_day ADD COLUMN saved_tokens REAL NOT NULL DEFAULT 0;
  ALTER TABLE main.tool_shelf_day ADD COLUMN saved_dollars REAL NOT NULL DEFAULT 0;
  ALTER TABLE main.tool_shelf_day ADD COLUMN called INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE main.tool_shelf_change (
    project TEXT NOT NULL,
    client TEXT NOT NULL,
    day TEXT NOT NULL,
    PRIMARY KEY (project, client)
  ) STRICT;
  CREATE TABLE main.tool_shelf_conversation (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    conversation TEXT NOT NULL,
    cuts TEXT NOT NULL,
    seen_ms INTEGER NOT NULL,
    UNIQUE (conversation, project)
  ) STRICT;
  CREATE INDEX tool_shelf_conversation_seen ON main.tool_shelf_conversation (seen_ms);
`,
  },
  {
    // budgets and last use of keys, and the key of each billed request
    version: 102,
    worksWith: 100,
    common: `
      ALTER TABLE main.access_key ADD COLUMN dollars_per_month REAL;
      CREATE TABLE main.key_used (
        key TEXT PRIMARY KEY REFERENCES main.access_key (id) ON DELETE CASCADE,
        at_ms INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      ALTER TABLE main.ledger_turn ADD COLUMN key_id TEXT NOT NULL DEFAULT '';
      CREATE INDEX ledger_turn_key ON main.ledger_turn (key_id, id) WHERE key_id <> '';
    `,
  },
  {
    // settings of projects, one row per change
    version: 103,
    worksWith: 100,
    common: `
      CREATE TABLE main.project_setting (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        author TEXT NOT NULL,
        settings TEXT NOT NULL
      ) STRICT;
      CREATE INDEX project_setting_project ON main.project_setting (project, id);
    `,
  },
  {
    // user agent of requests and compactions, because clients compact at different lengths
    version: 104,
    worksWith: 100,
    common: `
      ALTER TABLE main.ledger_turn ADD COLUMN client TEXT NOT NULL DEFAULT '';
      ALTER TABLE main.compaction ADD COLUMN product TEXT NOT NULL DEFAULT '';
    `,
  },
  {
    // generation of a key's last change, so that a process reads only changed keys
    version: 105,
    worksWith: 100,
    common: `
      CREATE TABLE main.key_change (
        key TEXT PRIMARY KEY REFERENCES main.access_key (id) ON DELETE CASCADE,
        number INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX key_change_number ON main.key_change (number, key);
      INSERT INTO main.key_change SELECT id, 0 FROM main.access_key;
    `,
    sqlite: ['INSERT', 'UPDATE']
      .map(
        (what) => `
      CREATE TRIGGER key_change_on_${what.toLowerCase()} AFTER ${what} ON access_key BEGIN
        UPDATE meter SET value = value + 1 WHERE name = 'key_generation';
        INSERT INTO key_change VALUES (NEW.id, (SELECT value FROM meter WHERE name = 'key_generation'))
          ON CONFLICT (key) DO UPDATE SET number = excluded.number;
      END;`,
      )
      .join(''),
  },
  {
    // PostgreSQL stores the recall index apart from the rows that a search reads
    version: 106,
    worksWith: 100,
    common: '',
  },
  {
    // totals by model and tool become figures of the ledger
    version: 107,
    worksWith: 107,
    common: `${['requests', 'candidates', 'pruned', 'tokens_before', 'tokens_after']
      .map(
        (field) => `
      INSERT INTO main.ledger_sum (day, project, slice, key, field, value)
        SELECT day, '', 'use', substr(model || '\t' || tool, 1, 200), '${field}', sum(${field}) FROM main.usage
        GROUP BY day, substr(model || '\t' || tool, 1, 200);`,
      )
      .join('')}
      DROP TABLE main.usage;
    `,
  },
];
