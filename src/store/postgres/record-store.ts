import type {
  ChildLogRecord,
  ChildSummary,
  ListedPrune,
  PruneSummary,
  Records,
  Reply,
  RunSummary,
  StoreAges,
  StoredChildLog,
} from '../../core/ports/records.ts';
import { CHILD_LOG_COLUMNS, type ChildLogRow, childLogOf } from '../log-rows.ts';
import { addChildLogs } from './child-logs.ts';
import type { Database } from './database.ts';
import { type DecisionRow, decisionOf } from './decisions.ts';
import type { ReplicaView } from './replica-view.ts';
import { fromPg, toPg } from './text.ts';

const MAX_ROWS = 10_000;
const BACKGROUND_WAIT_MS = 5_000;

/** What the parts of the store work with. */
export interface DatabaseParts {
  readonly database: Database;
  readonly view: ReplicaView;
  readonly nowMs: () => number;
}

type PruneRow = DecisionRow & { readonly id: number; readonly prune_id: string; readonly created_ms: number };

/** The ids of a log that begin with a prefix, each with its first and last number, found by the index. */
const RUNS = `
  WITH RECURSIVE run (id) AS (
    (SELECT run_id FROM mcp_pruner.event WHERE run_id >= $1 ORDER BY run_id LIMIT 1)
    UNION ALL
    SELECT (SELECT run_id FROM mcp_pruner.event WHERE run_id > run.id ORDER BY run_id LIMIT 1) FROM run WHERE run.id IS NOT NULL
  ), bounds AS (
    SELECT id, (SELECT min(seq) FROM mcp_pruner.event WHERE run_id = run.id) AS first_seq,
      (SELECT max(seq) FROM mcp_pruner.event WHERE run_id = run.id) AS last_seq
    FROM run WHERE id IS NOT NULL AND starts_with(id, $1)
  )
  SELECT b.id AS "runId", b.first_seq AS "firstSeq", b.last_seq AS "lastSeq", e.ts_ms AS "lastMs"
  FROM bounds b JOIN mcp_pruner.event e ON e.seq = b.last_seq ORDER BY b.last_seq DESC LIMIT $2`;

const CHILDREN = `
  WITH RECURSIVE child (id) AS (
    (SELECT child_id FROM mcp_pruner.child_log WHERE child_id >= $1 ORDER BY child_id LIMIT 1)
    UNION ALL
    SELECT (SELECT child_id FROM mcp_pruner.child_log WHERE child_id > child.id ORDER BY child_id LIMIT 1)
    FROM child WHERE child.id IS NOT NULL
  ), newest AS (
    SELECT id, (SELECT max(seq) FROM mcp_pruner.child_log WHERE child_id = child.id) AS seq
    FROM child WHERE id IS NOT NULL AND starts_with(id, $1)
  )
  SELECT n.id AS "childId", n.seq AS "lastSeq", l.ts_ms AS "lastMs"
  FROM newest n JOIN mcp_pruner.child_log l ON l.seq = n.seq ORDER BY n.seq DESC LIMIT $2`;

/** `Records` on PostgreSQL. */
export class DatabaseRecords implements Records {
  readonly #parts: DatabaseParts;
  readonly #maxEntries: number;
  readonly #expiryOf: (pruneId: string, storedMs: number) => number;

  /**
   * @param maxEntries - how many entries of agents are kept
   * @param expiryOf - the expiry that counts, noted uses included
   */
  constructor(parts: DatabaseParts, maxEntries: number, expiryOf: (pruneId: string, storedMs: number) => number) {
    this.#parts = parts;
    this.#maxEntries = maxEntries;
    this.#expiryOf = expiryOf;
  }

  async runs({ prefix, limit }: Parameters<Records['runs']>[0]): Promise<readonly RunSummary[]> {
    const rows = await this.#parts.database.query<RunSummary>(RUNS, [toPg(prefix), bounded(limit)]);
    return rows.map((row) => ({ ...row, runId: fromPg(row.runId) }));
  }

  lastSeqOfRun(runId: string): Promise<number> {
    return this.#lastSeq('SELECT max(seq) AS seq FROM mcp_pruner.event WHERE run_id = $1', [toPg(runId)]);
  }

  lastSeq(): Promise<number> {
    return this.#lastSeq('SELECT max(seq) AS seq FROM mcp_pruner.event');
  }

  async prunes({ prefix, limit }: Parameters<Records['prunes']>[0]): Promise<readonly PruneSummary[]> {
    const rows = await this.#parts.database.query<PruneRow>(
      `SELECT id, prune_id, decision_key AS key, body, created_ms, expires_ms FROM mcp_pruner.prune
       WHERE starts_with(prune_id, $1) AND expires_ms > $2 ORDER BY expires_ms DESC LIMIT $3`,
      [toPg(prefix), this.#parts.nowMs(), bounded(limit)],
    );
    return rows.map((row) => this.#summaryOf(row));
  }

  async prunesByAge({ before, limit }: Parameters<Records['prunesByAge']>[0]): Promise<readonly ListedPrune[]> {
    const rows = await this.#parts.database.query<PruneRow>(
      `SELECT id, prune_id, decision_key AS key, body, created_ms, expires_ms FROM mcp_pruner.prune
       WHERE id < $1 AND expires_ms > $2 ORDER BY id DESC LIMIT $3`,
      [before ?? Number.MAX_SAFE_INTEGER, this.#parts.nowMs(), bounded(limit)],
    );
    return rows.map((row) => ({ ...this.#summaryOf(row), row: row.id }));
  }

  async ages(): Promise<StoreAges> {
    const [row] = await this.#parts.database.query<StoreAges>(
      `SELECT (SELECT created_ms FROM mcp_pruner.prune ORDER BY id LIMIT 1) AS "oldestMs",
         (SELECT created_ms FROM mcp_pruner.prune ORDER BY id DESC LIMIT 1) AS "newestMs",
         (SELECT min(expires_ms) FROM mcp_pruner.prune) AS "nextExpiryMs",
         (SELECT max(expires_ms) FROM mcp_pruner.prune) AS "lastExpiryMs"`,
    );
    return row ?? { oldestMs: null, newestMs: null, nextExpiryMs: null, lastExpiryMs: null };
  }

  async pruneState(pruneId: string): ReturnType<Records['pruneState']> {
    const [row] = await this.#parts.database.query<{ expires_ms: number }>(
      'SELECT expires_ms FROM mcp_pruner.prune WHERE prune_id = $1',
      [toPg(pruneId)],
    );
    if (!row) return 'unknown';
    return this.#expiryOf(pruneId, row.expires_ms) > this.#parts.nowMs() ? 'alive' : 'expired';
  }

  async children({ prefix, limit }: Parameters<Records['children']>[0]): Promise<readonly ChildSummary[]> {
    const rows = await this.#parts.database.query<ChildSummary>(CHILDREN, [toPg(prefix), bounded(limit)]);
    return rows.map((row) => ({ ...row, childId: fromPg(row.childId) }));
  }

  lastSeqOfChild(childId: string): Promise<number> {
    return this.#lastSeq('SELECT max(seq) AS seq FROM mcp_pruner.child_log WHERE child_id = $1', [toPg(childId)]);
  }

  async childLogs({
    childId,
    fromSeq,
    limit,
  }: Parameters<Records['childLogs']>[0]): Promise<readonly StoredChildLog[]> {
    const rows = await this.#parts.database.query<ChildLogRow>(
      `SELECT ${CHILD_LOG_COLUMNS} FROM mcp_pruner.child_log
       WHERE child_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3`,
      [toPg(childId), Math.trunc(fromSeq), bounded(limit)],
    );
    return rows.map((row) => childLogOf(row, fromPg));
  }

  async addChildLogs(entries: readonly ChildLogRecord[]): Promise<void> {
    if (entries.length === 0) return;
    const { database } = this.#parts;
    await database.transaction((client) => addChildLogs(client, entries, this.#maxEntries), BACKGROUND_WAIT_MS);
  }

  async claimReply(tool: string, key: string, argsHash: string, ttlMs: number): Promise<Reply | null> {
    const nowMs = this.#parts.nowMs();
    const named = [toPg(tool), toPg(key)];
    const { database } = this.#parts;
    const claimed = await database.write(
      `INSERT INTO mcp_pruner.reply AS r (tool, key, args_hash, bytes, expires_ms) VALUES ($1, $2, $3, 0, $4)
       ON CONFLICT (tool, key) DO UPDATE SET args_hash = excluded.args_hash, text = NULL, bytes = 0,
         expires_ms = excluded.expires_ms WHERE r.expires_ms <= $5 RETURNING id`,
      [...named, argsHash, Math.trunc(nowMs + ttlMs), nowMs],
    );
    if (claimed.length > 0) return null;
    const [row] = await database.query<{ args_hash: string; text: string | null }>(REPLY, named);
    return row ? { argsHash: row.args_hash, text: row.text === null ? null : fromPg(row.text) } : null;
  }

  async holdReply(tool: string, key: string, ttlMs: number): Promise<void> {
    await this.#parts.database.write(
      'UPDATE mcp_pruner.reply SET expires_ms = $1 WHERE tool = $2 AND key = $3 AND text IS NULL',
      [Math.trunc(this.#parts.nowMs() + ttlMs), toPg(tool), toPg(key)],
    );
  }

  async keepReply(tool: string, key: string, argsHash: string, text: string, ttlMs: number): Promise<string> {
    const named = [toPg(tool), toPg(key)];
    const expiresMs = Math.trunc(this.#parts.nowMs() + ttlMs);
    await this.#parts.database.write(
      `INSERT INTO mcp_pruner.reply AS r (tool, key, args_hash, text, bytes, expires_ms) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (tool, key) DO UPDATE SET text = excluded.text, bytes = excluded.bytes, expires_ms = excluded.expires_ms
       WHERE r.text IS NULL AND r.args_hash = excluded.args_hash`,
      [...named, argsHash, toPg(text), Buffer.byteLength(text), expiresMs],
    );
    const [row] = await this.#parts.database.query<{ args_hash: string; text: string | null }>(REPLY, named);
    return row?.args_hash === argsHash && row.text !== null ? fromPg(row.text) : text;
  }

  async dropReply(tool: string, key: string, kept: boolean): Promise<void> {
    await this.#parts.database.write(
      `DELETE FROM mcp_pruner.reply WHERE tool = $1 AND key = $2 ${kept ? '' : 'AND text IS NULL'}`,
      [toPg(tool), toPg(key)],
    );
  }

  #summaryOf(row: PruneRow): PruneSummary {
    const { tool, sourceType, lines, keptLines } = decisionOf(row);
    const expiresMs = this.#expiryOf(row.prune_id, row.expires_ms);
    return { pruneId: row.prune_id, tool, sourceType, lines, keptLines, createdMs: row.created_ms, expiresMs };
  }

  async #lastSeq(sql: string, values: readonly unknown[] = []): Promise<number> {
    const [row] = await this.#parts.database.query<{ seq: number | null }>(sql, values);
    return row?.seq ?? 0;
  }
}

const REPLY = 'SELECT args_hash, text FROM mcp_pruner.reply WHERE tool = $1 AND key = $2';

function bounded(limit: number): number {
  return Math.min(Math.max(0, Math.trunc(limit)), MAX_ROWS);
}
