/** Tables in Common SQL on which no cut depends: data of request observers, and keys. */

/**
 * The cost of requests and the effect of pruning: one row per request for a limited time, and daily sums forever.
 * `ledger_state` carries the state of conversations and models between requests. `ledger_waiting` contains requests
 * that wait for earlier ones.
 */
export const LEDGER = `
  CREATE TABLE main.ledger_turn (
    id INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL UNIQUE,
    at_ms INTEGER NOT NULL,
    project TEXT NOT NULL,
    conversation TEXT NOT NULL,
    wire TEXT NOT NULL,
    cloud TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL,
    arm TEXT NOT NULL,
    estimated INTEGER NOT NULL,
    fresh INTEGER NOT NULL,
    write5m INTEGER NOT NULL,
    write1h INTEGER NOT NULL,
    read INTEGER NOT NULL,
    output INTEGER NOT NULL,
    dollars REAL,
    dollars_without REAL,
    removed INTEGER NOT NULL,
    removed_new INTEGER NOT NULL,
    miss TEXT,
    miss_tokens INTEGER NOT NULL,
    miss_dollars REAL,
    miss_at INTEGER NOT NULL,
    regret_tokens INTEGER NOT NULL,
    regret_dollars REAL,
    user_messages INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    recoveries INTEGER NOT NULL DEFAULT 0,
    key_id TEXT NOT NULL DEFAULT '',
    client TEXT NOT NULL DEFAULT ''
  ) STRICT;
  CREATE INDEX ledger_turn_conversation ON main.ledger_turn (conversation, id);
  CREATE INDEX ledger_turn_time ON main.ledger_turn (at_ms);
  CREATE INDEX ledger_turn_key ON main.ledger_turn (key_id, id) WHERE key_id <> '';
  CREATE TABLE main.ledger_sum (
    day TEXT NOT NULL,
    project TEXT NOT NULL,
    slice TEXT NOT NULL,
    key TEXT NOT NULL,
    field TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (day, project, slice, key, field)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE main.ledger_state (
    name TEXT NOT NULL PRIMARY KEY,
    lineage TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    version INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX ledger_state_lineage ON main.ledger_state (lineage, at_ms) WHERE lineage <> '';
  CREATE INDEX ledger_state_time ON main.ledger_state (at_ms);
  CREATE TABLE main.ledger_waiting (
    id INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL UNIQUE,
    since_ms INTEGER NOT NULL,
    names TEXT NOT NULL,
    lineage TEXT NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
`;

/**
 * Access keys by secret hash, their counters, last uses and latest changes, and the projects that own originals. Without
 * keys, these tables are empty and `event.project` is NULL. `key_change.number` is the generation of a key's last change, so
 * that a process reads only changed keys.
 */
export const KEYS = `
  CREATE TABLE main.access_key (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    projects TEXT NOT NULL,
    requests_per_minute INTEGER,
    tokens_per_day INTEGER,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    revoked_ms INTEGER,
    dollars_per_month REAL
  ) STRICT;
  CREATE TABLE main.key_count (
    key TEXT NOT NULL REFERENCES main.access_key (id) ON DELETE CASCADE,
    span TEXT NOT NULL,
    at INTEGER NOT NULL,
    used INTEGER NOT NULL,
    most INTEGER NOT NULL,
    PRIMARY KEY (key, span)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE main.key_used (
    key TEXT PRIMARY KEY REFERENCES main.access_key (id) ON DELETE CASCADE,
    at_ms INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE main.key_change (
    key TEXT PRIMARY KEY REFERENCES main.access_key (id) ON DELETE CASCADE,
    number INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX key_change_number ON main.key_change (number, key);
  CREATE TABLE main.prune_owner (
    prune INTEGER NOT NULL REFERENCES main.prune (id) ON DELETE CASCADE,
    project TEXT NOT NULL,
    PRIMARY KEY (prune, project)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX prune_owner_project ON main.prune_owner (project, prune);
`;

/** A filter of the terms of each text in projects that were searched. */
export const RECALL_FILTER = `
  CREATE TABLE main.recall_filter (
    recall INTEGER PRIMARY KEY REFERENCES main.recall (id) ON DELETE CASCADE,
    data BLOB NOT NULL
  ) STRICT;
`;

/**
 * Searchable tool results. A row is one text in one project, with the newest call that returned it, and lives as long
 * as its prune. `about` is what the call requested, which is searched too. `newer` is the row of a later result of the
 * same call.
 */
export const RECALL = `
  CREATE TABLE main.recall (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    prune INTEGER NOT NULL REFERENCES main.prune (id) ON DELETE CASCADE,
    tool TEXT NOT NULL,
    path TEXT NOT NULL,
    about TEXT NOT NULL,
    call TEXT NOT NULL,
    seen_ms INTEGER NOT NULL,
    chars INTEGER NOT NULL,
    newer INTEGER,
    UNIQUE (project, prune)
  ) STRICT;
  CREATE INDEX recall_prune ON main.recall (prune);
  CREATE INDEX recall_call ON main.recall (project, call) WHERE call <> '';
  CREATE INDEX recall_tool ON main.recall (project, tool);
  CREATE INDEX recall_path ON main.recall (project, path);
  CREATE INDEX recall_project ON main.recall (project, id);
${RECALL_FILTER}  CREATE TABLE main.recall_seen (
    recall INTEGER NOT NULL REFERENCES main.recall (id) ON DELETE CASCADE,
    conversation TEXT NOT NULL,
    task TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    PRIMARY KEY (recall, conversation, task)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX recall_seen_conversation ON main.recall_seen (conversation);
  CREATE INDEX recall_seen_task ON main.recall_seen (task, conversation) WHERE task <> '';
`;

/**
 * Client compactions: the summarised conversation (`continues`) and the one that continues from the summary, `''` until
 * its first request. `tokens` is the length at the compaction. `summary` is a hash of the summary.
 */
export const COMPACTIONS = `
  CREATE TABLE main.compaction (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    continues TEXT NOT NULL,
    conversation TEXT NOT NULL,
    client TEXT NOT NULL,
    model TEXT NOT NULL,
    session TEXT NOT NULL,
    summary TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    product TEXT NOT NULL DEFAULT ''
  ) STRICT;
  CREATE INDEX compaction_conversation ON main.compaction (project, conversation);
  CREATE INDEX compaction_continues ON main.compaction (project, continues);
  CREATE INDEX compaction_at ON main.compaction (at_ms);
`;

/** Settings of projects, one row per change. */
export const SETTINGS = `
  CREATE TABLE main.project_setting (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    author TEXT NOT NULL,
    settings TEXT NOT NULL
  ) STRICT;
  CREATE INDEX project_setting_project ON main.project_setting (project, id);
`;

/**
 * Conversations of earlier versions whose tool descriptions were shortened, with these cuts. Nothing is added any more:
 * such a conversation goes on as it began.
 */
export const SHORT_TOOLS = `
  CREATE TABLE main.tool_shelf_conversation (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    conversation TEXT NOT NULL,
    cuts TEXT NOT NULL,
    seen_ms INTEGER NOT NULL,
    UNIQUE (conversation, project)
  ) STRICT;
  CREATE INDEX tool_shelf_conversation_seen ON main.tool_shelf_conversation (seen_ms);
`;
