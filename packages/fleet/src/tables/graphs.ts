import { all, change, number, one, type Steps, type Transactions } from 'mcp-pruner/store/sql/steps.ts';
import { openText, packText, type StoredText } from 'mcp-pruner/store/text-codec.ts';
import type {
  CommitOutcome,
  FleetEvent,
  GraphCommit,
  GraphHead,
  GraphLock,
  GraphSnapshot,
  GraphVersion,
  OpenTransaction,
  SnapshotState,
  TransactionRequest,
} from '../ports.ts';
import { recordEvents } from './record.ts';

type GraphText = Omit<StoredText, 'encoding'>;

/** An open transaction with its stored working copy. */
type OpenRow = Omit<OpenTransaction, 'text'> & { readonly [Key in keyof GraphText]: GraphText[Key] | null };

type Expired = (snapshot: GraphSnapshot) => readonly FleetEvent[];

const MAX_GRAPHS = 1_000;
const MAX_VERSIONS = 500;
const MAX_OPEN = 100;
const MAX_SNAPSHOTS = 1_000;
const SNAPSHOT_MS = 30 * 24 * 60 * 60 * 1000;
/** How long expired locks are kept, so that their holder can be notified of the expiry. */
const EXPIRED_LOCK_MS = 24 * 60 * 60 * 1000;
const SNAPSHOT = `tx_id AS "txId", graph_id AS "graphId", base_version AS "baseVersion", started_ms AS "startedMs", state,
  ended_ms AS "endedMs", final_version AS "finalVersion", owner, note, expires_ms AS "expiresMs"`;
const LOCK = `SELECT lock_id AS "lockId", graph_id AS "graphId", holder, acquired_ms AS "acquiredMs",
  refreshed_ms AS "refreshedMs", expires_ms AS "expiresMs" FROM main.fleet_lock WHERE`;
const TEXT = 'bytes AS text_bytes, packed AS packing, data';
const HEAD = 'SELECT graph_id AS "graphId", version, committed_ms AS "committedMs" FROM';
/** Takes the prefix twice. */
const WITH_PREFIX = 'WHERE substr(graph_id, 1, length(?)) = ?';

/** Graphs and the like whose id begins with `prefix`. */
interface PrefixQuery {
  readonly prefix: string;
  readonly limit: number;
}

/** Versioned graphs, their locks and transactions. */
export class GraphStore {
  readonly #access: Transactions;

  constructor(access: Transactions) {
    this.#access = access;
  }

  head(graphId: string): Promise<GraphHead | null> {
    return this.#access.read(() => head(graphId));
  }

  /** Graphs, most recently committed first. */
  heads({ prefix, limit }: PrefixQuery): Promise<readonly GraphHead[]> {
    const sql = `${HEAD} main.fleet_graph ${WITH_PREFIX} ORDER BY committed_ms DESC, graph_id LIMIT ?`;
    return this.#access.read(() => all(sql, [prefix, prefix, limit]));
  }

  /** Stored versions, most recently committed first. */
  versions({ prefix, limit }: PrefixQuery): Promise<readonly GraphHead[]> {
    const newest = 'ORDER BY committed_ms DESC, graph_id, version DESC LIMIT ?';
    const sql = `${HEAD} main.fleet_graph_version ${WITH_PREFIX} ${newest}`;
    return this.#access.read(() => all(sql, [prefix, prefix, limit]));
  }

  async version(graphId: string, version: number): Promise<GraphVersion | null> {
    const sql = `SELECT ${TEXT}, committed_ms AS "committedMs" FROM main.fleet_graph_version
                 WHERE graph_id = ? AND version = ?`;
    const stored = await this.#access.read(() =>
      one<GraphText & { readonly committedMs: number }>(sql, [graphId, version]),
    );
    return stored && { text: await openText({ ...stored, encoding: 0 }), committedMs: stored.committedMs };
  }

  /** Checks base version and lock, then writes version, snapshot and events atomically. */
  async commit(commit: GraphCommit): Promise<CommitOutcome> {
    const { graphId, baseVersion, owner, note, txId, isTransaction, events } = commit;
    const text = commit.text === null ? null : packText(commit.text.toWellFormed());
    return this.#access.write(function* (nowMs): Steps<CommitOutcome> {
      const lock = yield* activeLock(graphId, nowMs);
      if (lock !== null && lock.holder !== owner) return { kind: 'locked', lock };
      if (isTransaction && (yield* openRow(txId)) === null) return { kind: 'gone' };
      const latest = yield* head(graphId);
      const found = latest?.version ?? 0;
      if (found !== baseVersion) return { kind: 'conflict', found };
      if (latest === null && text !== null) {
        const graphs = yield* number('SELECT count(*) AS value FROM main.fleet_graph');
        if (graphs >= MAX_GRAPHS) return { kind: 'full' };
      }
      const version = text === null ? baseVersion : baseVersion + 1;
      if (text !== null) yield* addVersion(graphId, version, text, nowMs);
      if (isTransaction) yield* end(txId, 'committed', version, nowMs);
      else if (text !== null) {
        const state = 'committed';
        const about = { graphId, txId, baseVersion, owner, note, finalVersion: version, expiresMs: null };
        yield* addSnapshot({ ...about, state, startedMs: nowMs, endedMs: nowMs }, null);
      }
      yield* recordEvents(events(version), nowMs);
      return { kind: 'committed', version, committedMs: text === null ? (latest?.committedMs ?? nowMs) : nowMs };
    });
  }

  activeLock(graphId: string): Promise<GraphLock | null> {
    return this.#access.read((nowMs) => activeLock(graphId, nowMs));
  }

  /** Takes or renews the lock; another holder's lock is returned unchanged. */
  lock(
    { graphId, holder, ttlMs, newId }: { graphId: string; holder: string; ttlMs: number | null; newId: string },
    events: (lock: GraphLock) => readonly FleetEvent[],
  ): Promise<GraphLock> {
    return this.#access.write(function* (nowMs) {
      const active = yield* activeLock(graphId, nowMs);
      if (active !== null && active.holder !== holder) return active;
      const lock: GraphLock = {
        lockId: active?.lockId ?? newId,
        graphId,
        holder,
        acquiredMs: active?.acquiredMs ?? nowMs,
        refreshedMs: nowMs,
        expiresMs: ttlMs === null ? null : nowMs + ttlMs,
      };
      yield* change(
        `INSERT INTO main.fleet_lock VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (lock_id) DO UPDATE SET refreshed_ms = excluded.refreshed_ms, expires_ms = excluded.expires_ms`,
        [lock.lockId, graphId, holder, lock.acquiredMs, nowMs, lock.expiresMs],
      );
      yield* recordEvents(events(lock), nowMs);
      return lock;
    });
  }

  /** Releases a lock; `null` if there is none with this id. */
  unlock(lockId: string, events: (lock: GraphLock, expired: boolean) => readonly FleetEvent[]) {
    return this.#access.write(function* (nowMs) {
      const lock = yield* one<GraphLock>(`${LOCK} lock_id = ?`, [lockId]);
      if (lock === null) return null;
      const expired = lock.expiresMs !== null && lock.expiresMs <= nowMs;
      yield* change('DELETE FROM main.fleet_lock WHERE lock_id = ?', [lockId]);
      yield* recordEvents(events(lock, expired), nowMs);
      return { lock, expired, releasedMs: nowMs };
    });
  }

  /** Opens a transaction on the committed version. */
  async begin(request: TransactionRequest, events: readonly FleetEvent[]): Promise<BeginOutcome> {
    const { graphId, txId, baseVersion, owner, note, ttlMs } = request;
    const text = request.text === null ? null : packText(request.text.toWellFormed());
    return this.#access.write(function* (nowMs): Steps<BeginOutcome> {
      const lock = yield* activeLock(graphId, nowMs);
      if (lock !== null && lock.holder !== owner) return { kind: 'locked', lock };
      const found = (yield* head(graphId))?.version ?? 0;
      if (found !== baseVersion) return { kind: 'conflict', found };
      const open = "SELECT count(*) AS value FROM main.fleet_snapshot WHERE graph_id = ? AND state = 'pending'";
      if ((yield* number(open, [graphId])) >= MAX_OPEN) return { kind: 'full' };
      const snapshot: GraphSnapshot = {
        graphId,
        txId,
        baseVersion,
        startedMs: nowMs,
        state: 'pending',
        endedMs: null,
        finalVersion: null,
        owner,
        note,
        expiresMs: ttlMs === null ? null : nowMs + ttlMs,
      };
      yield* addSnapshot(snapshot, text);
      yield* recordEvents(events, nowMs);
      return { kind: 'begun', snapshot };
    });
  }

  /** An open transaction; an overdue one becomes `expired` and is reported once. */
  async transaction(txId: string, expired: Expired): Promise<OpenTransaction | 'expired' | null> {
    const { row, isOver } = await this.#access.read(function* (nowMs) {
      const open = yield* openRow(txId);
      return { row: open, isOver: open !== null && open.expiresMs !== null && open.expiresMs <= nowMs };
    });
    if (isOver) {
      await this.#access.write(function* (nowMs) {
        const open = yield* openRow(txId); // `null` if another call was faster
        if (open !== null) yield* expire(open, expired, nowMs);
      });
      return 'expired';
    }
    if (row === null) return (await this.#access.read(() => snapshot(txId)))?.state === 'expired' ? 'expired' : null;
    const { text_bytes, packing, data, ...open } = row;
    const isBase = text_bytes === null || packing === null || data === null;
    return { ...open, text: isBase ? null : await openText({ encoding: 0, text_bytes, packing, data }) };
  }

  /**
   * Replaces the working copy. Returns `stale` after a concurrent change or the transaction's end, or the lock if
   * another holder has it.
   */
  async stage(txId: string, revision: number, text: string, owner: string | null) {
    const { text_bytes, packing, data } = packText(text.toWellFormed());
    return this.#access.write(function* (nowMs): Steps<'staged' | 'stale' | { readonly lock: GraphLock }> {
      const open = yield* openRow(txId);
      const lock = open && (yield* activeLock(open.graphId, nowMs));
      if (lock && lock.holder !== owner) return { lock };
      const staged = yield* change(
        `UPDATE main.fleet_snapshot SET revision = revision + 1, bytes = ?, packed = ?, data = ?
         WHERE tx_id = ? AND revision = ? AND state = 'pending'`,
        [text_bytes, packing, data, txId, revision],
      );
      return staged === 1 ? 'staged' : 'stale';
    });
  }

  rollback(txId: string, events: readonly FleetEvent[]): Promise<GraphSnapshot | null> {
    return this.#access.write(function* (nowMs) {
      if ((yield* openRow(txId)) === null) return null;
      yield* end(txId, 'rolled_back', null, nowMs);
      yield* recordEvents(events, nowMs);
      return yield* snapshot(txId);
    });
  }

  snapshot(graphId: string, txId: string): Promise<GraphSnapshot | null> {
    return this.#access.read(function* () {
      const found = yield* snapshot(txId);
      return found?.graphId === graphId ? found : null;
    });
  }

  snapshots({ prefix, limit }: PrefixQuery): Promise<readonly GraphSnapshot[]> {
    const newestBegun = 'ORDER BY started_ms DESC, base_version DESC, tx_id LIMIT ?';
    const sql = `SELECT ${SNAPSHOT} FROM main.fleet_snapshot ${WITH_PREFIX} ${newestBegun}`;
    return this.#access.read(() => all(sql, [prefix, prefix, limit]));
  }

  /**
   * Ends overdue transactions, and deletes locks a day after their expiry and ended snapshots beyond their maximum age.
   */
  async sweep(expired: Expired): Promise<void> {
    await this.#access.write(function* (nowMs) {
      const overdue = yield* all<GraphSnapshot>(
        `SELECT ${SNAPSHOT} FROM main.fleet_snapshot WHERE state = 'pending' AND expires_ms <= ? LIMIT 200`,
        [nowMs],
      );
      for (const open of overdue) yield* expire(open, expired, nowMs);
      yield* change('DELETE FROM main.fleet_lock WHERE expires_ms <= ?', [nowMs - EXPIRED_LOCK_MS]);
      yield* change(
        `DELETE FROM main.fleet_snapshot WHERE tx_id IN
           (SELECT tx_id FROM main.fleet_snapshot WHERE started_ms <= ? AND state <> 'pending' LIMIT 500)`,
        [nowMs - SNAPSHOT_MS],
      );
    });
  }
}

type BeginOutcome =
  | { readonly kind: 'begun'; readonly snapshot: GraphSnapshot }
  | Extract<CommitOutcome, { kind: 'locked' | 'conflict' | 'full' }>;

function head(graphId: string): Steps<GraphHead | null> {
  return one(`${HEAD} main.fleet_graph WHERE graph_id = ?`, [graphId]);
}

function activeLock(graphId: string, nowMs: number): Steps<GraphLock | null> {
  return one(`${LOCK} graph_id = ? AND (expires_ms IS NULL OR expires_ms > ?)`, [graphId, nowMs]);
}

function snapshot(txId: string): Steps<GraphSnapshot | null> {
  return one(`SELECT ${SNAPSHOT} FROM main.fleet_snapshot WHERE tx_id = ?`, [txId]);
}

function openRow(txId: string): Steps<OpenRow | null> {
  const columns = `${SNAPSHOT}, revision, ${TEXT}`;
  return one(`SELECT ${columns} FROM main.fleet_snapshot WHERE tx_id = ? AND state = 'pending'`, [txId]);
}

function* addVersion(graphId: string, version: number, text: GraphText, nowMs: number): Steps<void> {
  yield* change(
    `INSERT INTO main.fleet_graph_version (graph_id, version, committed_ms, bytes, packed, data)
     VALUES (?, ?, ?, ?, ?, ?)`,
    [graphId, version, nowMs, text.text_bytes, text.packing, text.data],
  );
  yield* change(
    `INSERT INTO main.fleet_graph VALUES (?, ?, ?)
     ON CONFLICT (graph_id) DO UPDATE SET version = excluded.version, committed_ms = excluded.committed_ms`,
    [graphId, version, nowMs],
  );
  const oldest = version - MAX_VERSIONS;
  yield* change('DELETE FROM main.fleet_graph_version WHERE graph_id = ? AND version <= ?', [graphId, oldest]);
}

function* addSnapshot(added: GraphSnapshot, text: GraphText | null): Steps<void> {
  const { txId, graphId, baseVersion, startedMs, state, endedMs, finalVersion, owner, note, expiresMs } = added;
  const about = [txId, graphId, baseVersion, startedMs, state, endedMs, finalVersion, owner, note, expiresMs];
  yield* change(
    `INSERT INTO main.fleet_snapshot (tx_id, graph_id, base_version, started_ms, state, ended_ms, final_version, owner, note,
       expires_ms, bytes, packed, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [...about, text?.text_bytes ?? null, text?.packing ?? null, text?.data ?? null],
  );
  yield* change(
    `DELETE FROM main.fleet_snapshot WHERE graph_id = ? AND state <> 'pending' AND started_ms <
       (SELECT started_ms FROM main.fleet_snapshot WHERE graph_id = ? ORDER BY started_ms DESC LIMIT 1 OFFSET ?)`,
    [graphId, graphId, MAX_SNAPSHOTS - 1],
  );
}

/** Ends an open transaction and deletes its working copy. */
function* end(txId: string, state: SnapshotState, finalVersion: number | null, nowMs: number): Steps<void> {
  yield* change(
    `UPDATE main.fleet_snapshot SET state = ?, final_version = ?, ended_ms = ?, bytes = NULL, packed = NULL, data = NULL
     WHERE tx_id = ? AND state = 'pending'`,
    [state, finalVersion, nowMs, txId],
  );
}

function* expire(open: GraphSnapshot, expired: Expired, nowMs: number): Steps<void> {
  yield* end(open.txId, 'expired', null, nowMs);
  yield* recordEvents(expired(open), nowMs);
}
