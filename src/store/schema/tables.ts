import { COMPACTIONS, KEYS, LEDGER, RECALL, SETTINGS, SHORT_TOOLS } from './side-tables.ts';

/**
 * The tables of both databases in Common SQL, grouped by purpose. The tables of original texts and the triggers differ
 * and are in database-specific files.
 */

/**
 * Prunes and decisions. `decision.prune` is NULL for a text left whole; a decision with a prune expires with it.
 * `decision.body` is NULL if it equals `prune.body`. The stored bytes of a prune's text are charged to the conversation
 * that stored it first. `meter` contains counters maintained by triggers.
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
 * Events and agent output. A `seq` is never reused, even after the newest rows were deleted. Events with
 * `audit = 1` are deleted only by age.
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
 * The segments of conversations. The only text is `opening`, the user's first words, if the settings allow it. `about`,
 * `mentions` and `edited` are lists of 32-bit keys. A directive with a scope belongs to an automatic step and applies
 * wherever the step applies. Triggers increment `directive_generation`.
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

export const TABLES = [
  ...[ORIGINALS, MARKS, LOGS, REPLIES, SEGMENTS, LEDGER, KEYS, RECALL, COMPACTIONS, SETTINGS, SHORT_TOOLS],
].join('');
