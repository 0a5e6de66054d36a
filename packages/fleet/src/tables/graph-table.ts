import { all, change, number, one, type Steps } from 'mcp-pruner/store/sql/steps.ts';
import type { GraphHead, GraphLock, GraphSnapshot, SnapshotState } from '../ports.ts';

/** A text in its stored form. */
export interface StoredText {
  /** Size of the uncompressed text, in bytes. */
  readonly bytes: number;
  readonly packed: number;
  readonly data: Buffer;
}

/** An open transaction with its working copy. */
interface OpenRow extends GraphSnapshot {
  readonly revision: number;
  readonly bytes: number | null;
  readonly packed: 0 | 1 | null;
  readonly data: Buffer | null;
}

const MAX_GRAPHS = 1_000;
const MAX_VERSIONS = 500;
const MAX_OPEN = 100;
const MAX_SNAPSHOTS = 1_000;
const SNAPSHOT_MS = 30 * 24 * 60 * 60 * 1000;
/** How long expired locks are kept, so that their holder can be notified of the expiry. */
const EXPIRED_LOCK_MS = 24 * 60 * 60 * 1000;
const SNAPSHOT = `tx_id AS "txId", graph_id AS "graphId", base_version AS "baseVersion", started_ms AS "startedMs", state,
  ended_ms AS "endedMs", final_version AS "finalVersion", owner, note, expires_ms AS "expiresMs"`;
const LOCK = `lock_id AS "lockId", graph_id AS "graphId", holder, acquired_ms AS "acquiredMs",
  refreshed_ms AS "refreshedMs", expires_ms AS "expiresMs"`;
const HEAD = 'graph_id AS "graphId", version, committed_ms AS "committedMs"';

/** Versions of graphs, snapshots of commits, open transactions and locks. */
export class GraphTable {
  *head(graphId: string): Steps<GraphHead | null> {
    return yield* one(`SELECT ${HEAD} FROM main.fleet_graph WHERE graph_id = ?`, [graphId]);
  }

  *heads(prefix: string, limit: number): Steps<GraphHead[]> {
    return yield* all(
      `SELECT ${HEAD} FROM main.fleet_graph
       WHERE substr(graph_id, 1, length(?)) = ? ORDER BY committed_ms DESC, graph_id LIMIT ?`,
      [prefix, prefix, limit],
    );
  }

  *versions(prefix: string, limit: number): Steps<GraphHead[]> {
    return yield* all(
      `SELECT ${HEAD} FROM main.fleet_graph_version
       WHERE substr(graph_id, 1, length(?)) = ? ORDER BY committed_ms DESC, graph_id, version DESC LIMIT ?`,
      [prefix, prefix, limit],
    );
  }

  *version(graphId: string, version: number): Steps<(StoredText & { readonly committedMs: number }) | null> {
    return yield* one(
      `SELECT bytes, packed, data, committed_ms AS "committedMs" FROM main.fleet_graph_version
       WHERE graph_id = ? AND version = ?`,
      [graphId, version],
    );
  }

  /** Whether there is room for one more graph. */
  *hasRoom(): Steps<boolean> {
    return (yield* number('SELECT count(*) AS value FROM main.fleet_graph')) < MAX_GRAPHS;
  }

  *addVersion(graphId: string, version: number, { bytes, packed, data }: StoredText, nowMs: number): Steps<void> {
    yield* change(
      `INSERT INTO main.fleet_graph_version (graph_id, version, committed_ms, bytes, packed, data)
       VALUES (?, ?, ?, ?, ?, ?)`,
      [graphId, version, nowMs, bytes, packed, data],
    );
    yield* change(
      `INSERT INTO main.fleet_graph VALUES (?, ?, ?)
       ON CONFLICT (graph_id) DO UPDATE SET version = excluded.version, committed_ms = excluded.committed_ms`,
      [graphId, version, nowMs],
    );
    yield* change('DELETE FROM main.fleet_graph_version WHERE graph_id = ? AND version <= ?', [
      graphId,
      version - MAX_VERSIONS,
    ]);
  }

  *activeLock(graphId: string, nowMs: number): Steps<GraphLock | null> {
    return yield* one(
      `SELECT ${LOCK} FROM main.fleet_lock WHERE graph_id = ? AND (expires_ms IS NULL OR expires_ms > ?)`,
      [graphId, nowMs],
    );
  }

  *lock(lockId: string): Steps<GraphLock | null> {
    return yield* one(`SELECT ${LOCK} FROM main.fleet_lock WHERE lock_id = ?`, [lockId]);
  }

  *putLock({ lockId, graphId, holder, acquiredMs, refreshedMs, expiresMs }: GraphLock): Steps<void> {
    yield* change(
      `INSERT INTO main.fleet_lock VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (lock_id) DO UPDATE SET refreshed_ms = excluded.refreshed_ms, expires_ms = excluded.expires_ms`,
      [lockId, graphId, holder, acquiredMs, refreshedMs, expiresMs],
    );
  }

  *dropLock(lockId: string): Steps<void> {
    yield* change('DELETE FROM main.fleet_lock WHERE lock_id = ?', [lockId]);
  }

  *hasRoomToOpen(graphId: string): Steps<boolean> {
    const open = "SELECT count(*) AS value FROM main.fleet_snapshot WHERE graph_id = ? AND state = 'pending'";
    return (yield* number(open, [graphId])) < MAX_OPEN;
  }

  *open(txId: string): Steps<OpenRow | null> {
    return yield* one(
      `SELECT ${SNAPSHOT}, revision, bytes, packed, data FROM main.fleet_snapshot WHERE tx_id = ? AND state = 'pending'`,
      [txId],
    );
  }

  *addSnapshot(snapshot: GraphSnapshot, text: StoredText | null): Steps<void> {
    const { txId, graphId, baseVersion, startedMs, state, endedMs, finalVersion, owner, note, expiresMs } = snapshot;
    yield* change(
      `INSERT INTO main.fleet_snapshot (tx_id, graph_id, base_version, started_ms, state, ended_ms, final_version, owner, note,
         expires_ms, bytes, packed, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        txId,
        graphId,
        baseVersion,
        startedMs,
        state,
        endedMs,
        finalVersion,
        owner,
        note,
        expiresMs,
        text?.bytes ?? null,
        text?.packed ?? null,
        text?.data ?? null,
      ],
    );
    yield* change(
      `DELETE FROM main.fleet_snapshot WHERE graph_id = ? AND state <> 'pending' AND started_ms <
         (SELECT started_ms FROM main.fleet_snapshot WHERE graph_id = ? ORDER BY started_ms DESC LIMIT 1 OFFSET ?)`,
      [graphId, graphId, MAX_SNAPSHOTS - 1],
    );
  }

  /** Replaces a working copy unless it has changed since `revision`. */
  *stage(txId: string, revision: number, { bytes, packed, data }: StoredText): Steps<boolean> {
    const changed = yield* change(
      `UPDATE main.fleet_snapshot SET revision = revision + 1, bytes = ?, packed = ?, data = ?
         WHERE tx_id = ? AND revision = ? AND state = 'pending'`,
      [bytes, packed, data, txId, revision],
    );
    return changed === 1;
  }

  /** Ends an open transaction and deletes its working copy. */
  *end(txId: string, state: SnapshotState, finalVersion: number | null, nowMs: number): Steps<void> {
    yield* change(
      `UPDATE main.fleet_snapshot SET state = ?, final_version = ?, ended_ms = ?, bytes = NULL, packed = NULL, data = NULL
       WHERE tx_id = ? AND state = 'pending'`,
      [state, finalVersion, nowMs, txId],
    );
  }

  *snapshot(txId: string): Steps<GraphSnapshot | null> {
    return yield* one(`SELECT ${SNAPSHOT} FROM main.fleet_snapshot WHERE tx_id = ?`, [txId]);
  }

  *snapshots(prefix: string, limit: number): Steps<GraphSnapshot[]> {
    return yield* all(
      `SELECT ${SNAPSHOT} FROM main.fleet_snapshot WHERE substr(graph_id, 1, length(?)) = ?
       ORDER BY started_ms DESC, base_version DESC, tx_id LIMIT ?`,
      [prefix, prefix, limit],
    );
  }

  /** Expired transactions that are still open. */
  *overdue(nowMs: number): Steps<GraphSnapshot[]> {
    return yield* all(
      `SELECT ${SNAPSHOT} FROM main.fleet_snapshot WHERE state = 'pending' AND expires_ms <= ? LIMIT 200`,
      [nowMs],
    );
  }

  *sweep(nowMs: number): Steps<void> {
    yield* change('DELETE FROM main.fleet_lock WHERE expires_ms <= ?', [nowMs - EXPIRED_LOCK_MS]);
    yield* change(
      `DELETE FROM main.fleet_snapshot WHERE tx_id IN
         (SELECT tx_id FROM main.fleet_snapshot WHERE started_ms <= ? AND state <> 'pending' LIMIT 500)`,
      [nowMs - SNAPSHOT_MS],
    );
  }
}
