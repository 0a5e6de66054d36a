import type { PartTables } from 'mcp-pruner/store/part-tables.ts';
import { change } from 'mcp-pruner/store/sql/steps.ts';
import { ENDED } from './children.ts';

const TABLES = `
  CREATE TABLE main.fleet_graph (
    graph_id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    committed_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX fleet_graph_newest ON main.fleet_graph (committed_ms);
  CREATE TABLE main.fleet_graph_version (
    id INTEGER PRIMARY KEY,
    graph_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    committed_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    packed INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (graph_id, version)
  ) STRICT;
  CREATE TABLE main.fleet_snapshot (
    tx_id TEXT PRIMARY KEY,
    graph_id TEXT NOT NULL,
    base_version INTEGER NOT NULL,
    started_ms INTEGER NOT NULL,
    state TEXT NOT NULL,
    ended_ms INTEGER,
    final_version INTEGER,
    owner TEXT,
    note TEXT,
    expires_ms INTEGER,
    revision INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER,
    packed INTEGER,
    data BLOB
  ) STRICT;
  CREATE INDEX fleet_snapshot_graph ON main.fleet_snapshot (graph_id, started_ms);
  CREATE INDEX fleet_snapshot_started ON main.fleet_snapshot (started_ms);
  CREATE INDEX fleet_snapshot_expiry ON main.fleet_snapshot (expires_ms) WHERE state = 'pending';
  CREATE TABLE main.fleet_lock (
    lock_id TEXT PRIMARY KEY,
    graph_id TEXT NOT NULL,
    holder TEXT NOT NULL,
    acquired_ms INTEGER NOT NULL,
    refreshed_ms INTEGER NOT NULL,
    expires_ms INTEGER
  ) STRICT;
  CREATE INDEX fleet_lock_graph ON main.fleet_lock (graph_id);
  CREATE INDEX fleet_lock_expiry ON main.fleet_lock (expires_ms);
  CREATE TABLE main.fleet_counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO main.fleet_counter VALUES
    ('board_version', 0), ('board_entries', 0), ('board_bytes', 0), ('board_event_bytes', 0), ('board_dropped', 0);
  CREATE TABLE main.fleet_board (
    key TEXT PRIMARY KEY,
    namespace TEXT NOT NULL,
    value TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    tags TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    version INTEGER NOT NULL UNIQUE
  ) STRICT;
  CREATE INDEX fleet_board_namespace ON main.fleet_board (namespace, version);
  CREATE INDEX fleet_board_expiry ON main.fleet_board (expires_ms) WHERE expires_ms IS NOT NULL;
  CREATE TABLE main.fleet_board_tag (
    tag TEXT NOT NULL,
    key TEXT NOT NULL REFERENCES main.fleet_board (key) ON DELETE CASCADE,
    PRIMARY KEY (tag, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX fleet_board_tag_key ON main.fleet_board_tag (key);
  CREATE TABLE main.fleet_board_event (
    version INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    namespace TEXT NOT NULL,
    ts_ms INTEGER NOT NULL,
    reason TEXT,
    entry TEXT,
    previous TEXT,
    bytes INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX fleet_board_event_namespace ON main.fleet_board_event (namespace, version);
  CREATE TABLE main.fleet_point (
    node_id TEXT NOT NULL,
    type TEXT NOT NULL,
    intensity REAL NOT NULL,
    updated_ms INTEGER NOT NULL,
    PRIMARY KEY (node_id, type)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE main.fleet_child (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    child_id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    run_id TEXT,
    token_hash TEXT,
    ended_ms INTEGER,
    record TEXT NOT NULL,
    spec TEXT NOT NULL,
    stdout_at INTEGER NOT NULL DEFAULT 0,
    stderr_at INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX fleet_child_state ON main.fleet_child (state, seq);
  CREATE INDEX fleet_child_token ON main.fleet_child (token_hash) WHERE token_hash IS NOT NULL;
  CREATE TABLE main.fleet_instance (
    instance_id TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    url TEXT NOT NULL,
    heard_ms INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE main.fleet_plan (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL UNIQUE,
    op_id TEXT NOT NULL,
    state TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX fleet_plan_operation ON main.fleet_plan (op_id, seq);
  CREATE INDEX fleet_plan_state ON main.fleet_plan (state, seq);
  CREATE TABLE main.fleet_contract (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    call_id TEXT NOT NULL UNIQUE,
    agent_id TEXT NOT NULL,
    status TEXT NOT NULL,
    until_ms INTEGER,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX fleet_contract_open ON main.fleet_contract (agent_id) WHERE status = 'awarded';
`;

const SQLITE_COUNTING = `
  CREATE TRIGGER fleet_board_added AFTER INSERT ON fleet_board BEGIN
    UPDATE fleet_counter SET value = value + 1 WHERE name = 'board_entries';
    UPDATE fleet_counter SET value = value + new.bytes WHERE name = 'board_bytes';
  END;
  CREATE TRIGGER fleet_board_removed AFTER DELETE ON fleet_board BEGIN
    UPDATE fleet_counter SET value = value - 1 WHERE name = 'board_entries';
    UPDATE fleet_counter SET value = value - old.bytes WHERE name = 'board_bytes';
  END;
  CREATE TRIGGER fleet_board_event_added AFTER INSERT ON fleet_board_event BEGIN
    UPDATE fleet_counter SET value = value + new.bytes WHERE name = 'board_event_bytes';
  END;
  CREATE TRIGGER fleet_board_event_removed AFTER DELETE ON fleet_board_event BEGIN
    UPDATE fleet_counter SET value = value - old.bytes WHERE name = 'board_event_bytes';
    UPDATE fleet_counter SET value = max(value, old.version) WHERE name = 'board_dropped';
  END;
`;

/**
 * Blackboard counters that the triggers do not restore when rows are moved: its last version, and the last version
 * whose change was deleted. In Common SQL.
 */
const ADVANCE_BOARD_COUNTERS = [
  `UPDATE main.fleet_counter SET value = coalesce((SELECT max(version) FROM
     (SELECT version FROM main.fleet_board UNION ALL SELECT version FROM main.fleet_board_event) known), 0)
   WHERE name = 'board_version' AND value = 0`,
  `UPDATE main.fleet_counter SET value = coalesce((SELECT min(version) - 1 FROM main.fleet_board_event),
     (SELECT value FROM main.fleet_counter WHERE name = 'board_version'))
   WHERE name = 'board_dropped' AND value = 0`,
];

export const fleetTables: PartTables = {
  common: TABLES,
  sqlite: SQLITE_COUNTING,
  postgres: async () => (await import('./postgres-counting.ts')).fleetPostgres,
  moved: [
    ['fleet_graph', 'graph_id', 'graph_id version committed_ms', 'graph_id'],
    ['fleet_graph_version', 'id', 'id graph_id version committed_ms bytes packed data', 'graph_id', 20],
    [
      'fleet_snapshot',
      'tx_id',
      'tx_id graph_id base_version started_ms state ended_ms final_version owner note expires_ms revision bytes packed data',
      'tx_id graph_id owner note',
      20,
    ],
    ['fleet_lock', 'lock_id', 'lock_id graph_id holder acquired_ms refreshed_ms expires_ms', 'lock_id graph_id holder'],
    [
      'fleet_board',
      'key',
      'key namespace value bytes tags created_ms updated_ms expires_ms version',
      'key namespace',
      100,
    ],
    ['fleet_board_tag', 'tag key', 'tag key', 'tag key'],
    [
      'fleet_board_event',
      'version',
      'version kind key namespace ts_ms reason entry previous bytes',
      'key namespace',
      100,
    ],
    ['fleet_point', 'node_id type', 'node_id type intensity updated_ms', 'node_id type'],
    [
      'fleet_child',
      'seq',
      'seq child_id state run_id token_hash ended_ms record spec stdout_at stderr_at',
      'child_id run_id',
      100,
    ],
    ['fleet_plan', 'seq', 'seq run_id op_id state record', 'run_id op_id', 100],
    ['fleet_contract', 'seq', 'seq call_id agent_id status until_ms record', 'call_id agent_id', 100],
  ],
  numbered: { fleet_graph_version: 'id', fleet_child: 'seq', fleet_plan: 'seq', fleet_contract: 'seq' },
  afterMove: ADVANCE_BOARD_COUNTERS,
  *eraseChildren(childIds) {
    yield* change(`DELETE FROM main.fleet_child WHERE child_id IN LIST(?) AND ${ENDED}`, [childIds]);
  },
};
