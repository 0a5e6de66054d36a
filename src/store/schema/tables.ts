/**
 * The tables of both databases in Common SQL, grouped by purpose. The tables of original texts and the triggers differ,
 * and are in each database's own file.
 */

/**
 * Prunes and decisions. `decision.prune` is NULL for a text left whole; a decision with a prune expires with it.
 * `decision.body` is NULL if it equals `prune.body`. A prune is charged to the conversation that stored it first, with
 * the stored bytes of its text. `meter` holds counters that triggers maintain.
 */
const ORIGINALS = `
  CREATE TABLE main.meter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO main.meter VALUES
    ('deleted_generation', 0), ('stored_bytes', 0), ('prunes', 0), ('snapshots', 0),
    ('directive_generation', 0), ('directives', 0), ('key_generation', 0), ('prunes_adopted', 0);
  CREATE TABLE main.prune (
    id INTEGER PRIMARY KEY,
    prune_id TEXT NOT NULL UNIQUE,
    snapshot INTEGER NOT NULL REFERENCES main.snapshot (id),
    decision_key TEXT NOT NULL,
    body TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX prune_expiry ON main.prune (expires_ms);
  CREATE INDEX prune_snapshot ON main.prune (snapshot);
  CREATE TABLE main.decision (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    prune INTEGER REFERENCES main.prune (id) ON DELETE CASCADE,
    body TEXT,
    expires_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX decision_prune ON main.decision (prune) WHERE prune IS NOT NULL;
  CREATE INDEX decision_expiry ON main.decision (expires_ms) WHERE prune IS NULL;
  CREATE TABLE main.charge (
    prune INTEGER PRIMARY KEY REFERENCES main.prune (id) ON DELETE CASCADE,
    conversation TEXT NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT;
`;

/** Records of sent messages, texts served by recovery, and conversations whose upstream refused a prune. */
const MARKS = `
  CREATE TABLE main.served (
    id INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    expires_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX served_expiry ON main.served (expires_ms);
  CREATE TABLE main.left_alone (
    id INTEGER PRIMARY KEY,
    prefix_hash TEXT NOT NULL UNIQUE,
    expires_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX left_alone_expiry ON main.left_alone (expires_ms);
  CREATE TABLE main.sent (
    id INTEGER PRIMARY KEY,
    prefix TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    expires_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX sent_expiry ON main.sent (expires_ms);
`;

/**
 * Events, output of agents, and usage by day. A `seq` is never reused, even after the newest rows were deleted. Events
 * with `audit = 1` are deleted only by age.
 */
const LOGS = `
  CREATE TABLE main.event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    ts_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    level TEXT NOT NULL,
    run_id TEXT NOT NULL,
    op_id TEXT,
    job_id TEXT,
    graph_id TEXT,
    node_id TEXT,
    child_id TEXT,
    project TEXT,
    audit INTEGER NOT NULL DEFAULT 0,
    payload TEXT NOT NULL
  ) STRICT;
  CREATE INDEX event_run ON main.event (run_id, seq);
  CREATE INDEX event_project ON main.event (project, seq) WHERE project IS NOT NULL;
  CREATE INDEX event_audit ON main.event (ts_ms) WHERE audit = 1;
  CREATE INDEX event_plain ON main.event (seq) WHERE audit = 0;
  CREATE TABLE main.child_log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    ts_ms INTEGER NOT NULL,
    child_id TEXT NOT NULL,
    run_id TEXT,
    op_id TEXT,
    job_id TEXT,
    graph_id TEXT,
    node_id TEXT,
    stream TEXT NOT NULL,
    message TEXT NOT NULL,
    parsed TEXT
  ) STRICT;
  CREATE INDEX child_log_child ON main.child_log (child_id, seq);
  CREATE TABLE main.usage (
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    tool TEXT NOT NULL,
    requests INTEGER NOT NULL,
    candidates INTEGER NOT NULL,
    pruned INTEGER NOT NULL,
    tokens_before INTEGER NOT NULL,
    tokens_after INTEGER NOT NULL,
    PRIMARY KEY (day, model, tool)
  ) STRICT, WITHOUT ROWID;
`;

/** Answers to calls with an idempotency key. */
const REPLIES = `
  CREATE TABLE main.reply (
    id INTEGER PRIMARY KEY,
    tool TEXT NOT NULL,
    key TEXT NOT NULL,
    args_hash TEXT NOT NULL,
    text TEXT,
    bytes INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    UNIQUE (tool, key)
  ) STRICT;
  CREATE INDEX reply_expiry ON main.reply (expires_ms, bytes);
`;

/**
 * The content of conversations. It has no texts except `opening`, the first words of the user, if the settings allow
 * it. `about`, `mentions` and `edited` are lists of 32-bit keys. A directive with a scope belongs to an automatic step
 * and applies wherever the step does. Triggers increment `directive_generation`.
 */
const SEGMENTS = `
  CREATE TABLE main.conversation (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    task TEXT NOT NULL,
    turns INTEGER NOT NULL,
    base_turn INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    seen_ms INTEGER NOT NULL,
    client TEXT NOT NULL DEFAULT '',
    opening TEXT NOT NULL DEFAULT '',
    UNIQUE (project, name)
  ) STRICT;
  CREATE INDEX conversation_seen ON main.conversation (project, seen_ms);
  CREATE INDEX conversation_expiry ON main.conversation (seen_ms);
  CREATE TABLE main.segment (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    conversation INTEGER NOT NULL REFERENCES main.conversation (id) ON DELETE CASCADE,
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
  CREATE INDEX segment_order ON main.segment (conversation, ordinal, id);
  CREATE TABLE main.segment_prune (
    segment INTEGER NOT NULL REFERENCES main.segment (id) ON DELETE CASCADE,
    prune_id TEXT NOT NULL,
    PRIMARY KEY (segment, prune_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX segment_prune_id ON main.segment_prune (prune_id);
  CREATE TABLE main.directive (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    segment TEXT NOT NULL,
    scope TEXT NOT NULL,
    action TEXT NOT NULL,
    up_to INTEGER NOT NULL,
    UNIQUE (project, segment, scope)
  ) STRICT;
  CREATE TABLE main.step (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    scope TEXT NOT NULL,
    conversation TEXT NOT NULL,
    messages INTEGER NOT NULL,
    UNIQUE (project, scope)
  ) STRICT;
  CREATE TABLE main.directive_generation (
    project TEXT PRIMARY KEY,
    generation INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

/**
 * The cost of requests and the effect of pruning: one row per request for a limited time, and daily sums forever.
 * `ledger_state` carries the state of conversations and models from request to request. `ledger_waiting` has requests
 * that wait for earlier ones.
 */
const LEDGER = `
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
    corrections INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    calls_again INTEGER NOT NULL DEFAULT 0,
    recoveries INTEGER NOT NULL DEFAULT 0,
    edits INTEGER NOT NULL DEFAULT 0,
    failed_edits INTEGER NOT NULL DEFAULT 0,
    red_tests INTEGER NOT NULL DEFAULT 0,
    turned_green INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX ledger_turn_conversation ON main.ledger_turn (conversation, id);
  CREATE INDEX ledger_turn_time ON main.ledger_turn (at_ms);
  CREATE TABLE main.ledger_sum (
    day TEXT NOT NULL,
    project TEXT NOT NULL,
    slice TEXT NOT NULL,
    key TEXT NOT NULL,
    field TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (day, project, slice, key, field)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE main.ledger_step (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    tool TEXT NOT NULL,
    kind TEXT NOT NULL,
    step INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    texts INTEGER NOT NULL,
    regretted INTEGER NOT NULL
  ) STRICT;
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
 * Access keys by the hash of their text, their counters, and the projects that own an original. Without keys these
 * tables are empty, and `event.project` is NULL.
 */
const KEYS = `
  CREATE TABLE main.access_key (
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
  CREATE TABLE main.key_count (
    key TEXT NOT NULL REFERENCES main.access_key (id) ON DELETE CASCADE,
    span TEXT NOT NULL,
    at INTEGER NOT NULL,
    used INTEGER NOT NULL,
    most INTEGER NOT NULL,
    PRIMARY KEY (key, span)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE main.prune_owner (
    prune INTEGER NOT NULL REFERENCES main.prune (id) ON DELETE CASCADE,
    project TEXT NOT NULL,
    PRIMARY KEY (prune, project)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX prune_owner_project ON main.prune_owner (project, prune);
`;

/**
 * Tool results that can be searched. A row is one text within one project, with the newest call that showed it, and
 * lives as long as its prune. `file` is the last part of the path; `about` is what the call asked for, which is indexed
 * too. `indexed`: 0 waits, 1 is in the index, 2 is in the index under `indexed_about` and waits to be re-indexed.
 * `newer` is the row of a later result of the same call.
 */
const RECALL = `
  CREATE TABLE main.recall (
    id INTEGER PRIMARY KEY,
    project TEXT NOT NULL,
    prune INTEGER NOT NULL REFERENCES main.prune (id) ON DELETE CASCADE,
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
  CREATE INDEX recall_prune ON main.recall (prune);
  CREATE INDEX recall_call ON main.recall (project, call) WHERE call <> '';
  CREATE INDEX recall_tool ON main.recall (project, tool);
  CREATE INDEX recall_path ON main.recall (project, path);
  CREATE INDEX recall_file ON main.recall (project, file) WHERE file <> '';
  CREATE INDEX recall_waiting ON main.recall (id) WHERE indexed <> 1;
  CREATE TABLE main.recall_seen (
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
 * Compactions of clients: the summarised conversation (`continues`) and the one that goes on from the summary, `''`
 * until its first request. `tokens` is the length at which the client compacted. `summary` is a hash of the summary.
 */
const COMPACTIONS = `
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
    at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX compaction_conversation ON main.compaction (project, conversation);
  CREATE INDEX compaction_continues ON main.compaction (project, continues);
  CREATE INDEX compaction_at ON main.compaction (at_ms);
`;

/**
 * Evidence of the tool shelf: one row per declaration of a tool, project and client; the conversations that declared
 * them, with the counted calls; and by day the potential savings of the shelf.
 */
const SHELF = `
  CREATE TABLE main.tool_declaration (
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
  CREATE TABLE main.tool_conversation (
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
  CREATE INDEX tool_conversation_seen ON main.tool_conversation (seen_ms);
  CREATE TABLE main.tool_shelf_day (
    day TEXT NOT NULL,
    project TEXT NOT NULL,
    tokens REAL NOT NULL,
    dollars REAL NOT NULL,
    PRIMARY KEY (day, project)
  ) STRICT;
`;

export const TABLES = [ORIGINALS, MARKS, LOGS, REPLIES, SEGMENTS, LEDGER, KEYS, RECALL, COMPACTIONS, SHELF].join('');
