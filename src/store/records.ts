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
} from '../core/ports/records.ts';
import { addLines, CHILD_LOG_COLUMNS, type ChildLogRow, childLogOf } from './logs.ts';
import { IS_CUT, LISTED, type ListedRow, summaryOf } from './prune-rows.ts';
import { bounded, change, each, one, type Sql, type Steps } from './sql/steps.ts';

/** `Records` on the tables of either database. */
export class StoredRecords implements Records {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async addChildLogs(lines: readonly ChildLogRecord[]): Promise<void> {
    if (lines.length > 0) await this.#sql.write(() => addLines(lines), { background: 'lines' });
  }

  claimReply(tool: string, key: string, argsHash: string, ttlMs: number): Promise<Reply | null> {
    return this.#sql.write(function* (nowMs): Steps<Reply | null> {
      const claimed = yield* each(CLAIM, [[tool, key, argsHash, Math.trunc(nowMs + ttlMs), nowMs]]);
      const row = claimed.length > 0 ? null : yield* replyOf(tool, key);
      return row && { argsHash: row.args_hash, text: row.text };
    });
  }

  async holdReply(tool: string, key: string, ttlMs: number): Promise<void> {
    const hold = 'UPDATE main.reply SET expires_ms = ? WHERE tool = ? AND key = ? AND text IS NULL';
    await this.#sql.once(hold, [[Math.trunc(this.#sql.nowMs() + ttlMs), tool, key]]);
  }

  keepReply(tool: string, key: string, argsHash: string, text: string, ttlMs: number): Promise<string> {
    return this.#sql.write(function* (nowMs): Steps<string> {
      const values = [tool, key, argsHash, text, Buffer.byteLength(text), Math.trunc(nowMs + ttlMs)];
      yield* change(KEEP, values);
      const row = yield* replyOf(tool, key);
      return row?.args_hash === argsHash ? (row.text ?? text) : text;
    });
  }

  async dropReply(tool: string, key: string, kept: boolean): Promise<void> {
    await this.#sql.once(`DELETE FROM main.reply WHERE tool = ? AND key = ?${kept ? '' : ' AND text IS NULL'}`, [
      [tool, key],
    ]);
  }

  runs({ prefix, limit }: Parameters<Records['runs']>[0]): Promise<readonly RunSummary[]> {
    return this.#sql.all(RUNS, [prefix, prefix, prefix, bounded(limit)]);
  }

  lastSeqOfRun(runId: string): Promise<number> {
    return this.#lastSeq('event WHERE run_id = ?', runId);
  }

  lastSeq(): Promise<number> {
    return this.#lastSeq('event');
  }

  async prunes({ prefix, limit }: Parameters<Records['prunes']>[0]): Promise<readonly PruneSummary[]> {
    const rows = await this.#sql.all<ListedRow>(
      `SELECT ${LISTED} FROM main.prune
       WHERE ${IS_CUT} AND substr(prune_id, 1, length(?)) = ? AND expires_ms > ? ORDER BY expires_ms DESC LIMIT ?`,
      [prefix, prefix, this.#sql.nowMs(), bounded(limit)],
    );
    return rows.map((row) => summaryOf(this.#sql, row));
  }

  async prunesByAge({ before, limit }: Parameters<Records['prunesByAge']>[0]): Promise<readonly ListedPrune[]> {
    const rows = await this.#sql.all<ListedRow>(
      `SELECT ${LISTED} FROM main.prune WHERE ${IS_CUT} AND id < ? AND expires_ms > ? ORDER BY id DESC LIMIT ?`,
      [before ?? Number.MAX_SAFE_INTEGER, this.#sql.nowMs(), bounded(limit)],
    );
    return rows.map((row) => ({ ...summaryOf(this.#sql, row), row: row.id }));
  }

  async ages(): Promise<StoreAges> {
    const [row] = await this.#sql.all<StoreAges>(
      `SELECT (SELECT created_ms FROM main.prune ORDER BY id LIMIT 1) AS "oldestMs",
         (SELECT created_ms FROM main.prune ORDER BY id DESC LIMIT 1) AS "newestMs",
         (SELECT min(expires_ms) FROM main.prune) AS "nextExpiryMs",
         (SELECT max(expires_ms) FROM main.prune) AS "lastExpiryMs"`,
    );
    return row ?? { oldestMs: null, newestMs: null, nextExpiryMs: null, lastExpiryMs: null };
  }

  async pruneState(pruneId: string): ReturnType<Records['pruneState']> {
    const [row] = await this.#sql.all<{ expires_ms: number }>('SELECT expires_ms FROM main.prune WHERE prune_id = ?', [
      pruneId,
    ]);
    if (!row) return 'unknown';
    return this.#sql.expiry('prune', pruneId, row.expires_ms) > this.#sql.nowMs() ? 'alive' : 'expired';
  }

  children({ prefix, limit }: Parameters<Records['children']>[0]): Promise<readonly ChildSummary[]> {
    return this.#sql.all(CHILDREN, [prefix, prefix, prefix, bounded(limit)]);
  }

  lastSeqOfChild(childId: string): Promise<number> {
    return this.#lastSeq('child_log WHERE child_id = ?', childId);
  }

  async childLogs(query: Parameters<Records['childLogs']>[0]): Promise<readonly StoredChildLog[]> {
    const rows = await this.#sql.all<ChildLogRow>(
      `SELECT ${CHILD_LOG_COLUMNS} FROM main.child_log WHERE child_id = ? AND seq >= ? ORDER BY seq LIMIT ?`,
      [query.childId, Math.trunc(query.fromSeq), bounded(query.limit)],
    );
    return rows.map(childLogOf);
  }

  async #lastSeq(from: string, ...values: string[]): Promise<number> {
    const [row] = await this.#sql.all<{ seq: number | null }>(`SELECT max(seq) AS seq FROM main.${from}`, values);
    return row?.seq ?? 0;
  }
}

const CLAIM = `
  INSERT INTO main.reply AS r (tool, key, args_hash, bytes, expires_ms) VALUES (?, ?, ?, 0, ?)
  ON CONFLICT (tool, key) DO UPDATE SET args_hash = excluded.args_hash, text = NULL, bytes = 0,
    expires_ms = excluded.expires_ms WHERE r.expires_ms <= ?
  RETURNING id`;
const KEEP = `
  INSERT INTO main.reply AS r (tool, key, args_hash, text, bytes, expires_ms) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (tool, key) DO UPDATE SET text = excluded.text, bytes = excluded.bytes, expires_ms = excluded.expires_ms
  WHERE r.text IS NULL AND r.args_hash = excluded.args_hash`;

function replyOf(tool: string, key: string): Steps<{ args_hash: string; text: string | null } | null> {
  return one('SELECT args_hash, text FROM main.reply WHERE tool = ? AND key = ?', [tool, key]);
}

/** Ids of a log with a given prefix, each with its first and last number; answered from the index. */
const RUNS = `
  WITH RECURSIVE run (id) AS (
    SELECT min(run_id) FROM main.event WHERE run_id >= ?
    UNION ALL
    SELECT (SELECT min(run_id) FROM main.event WHERE run_id > run.id) FROM run WHERE run.id IS NOT NULL
  ), bounds AS (
    SELECT id, (SELECT min(seq) FROM main.event WHERE run_id = run.id) AS first_seq,
      (SELECT max(seq) FROM main.event WHERE run_id = run.id) AS last_seq
    FROM run WHERE id IS NOT NULL AND substr(id, 1, length(?)) = ?
  )
  SELECT b.id AS "runId", b.first_seq AS "firstSeq", b.last_seq AS "lastSeq", e.ts_ms AS "lastMs"
  FROM bounds b JOIN main.event e ON e.seq = b.last_seq ORDER BY b.last_seq DESC LIMIT ?`;

const CHILDREN = `
  WITH RECURSIVE child (id) AS (
    SELECT min(child_id) FROM main.child_log WHERE child_id >= ?
    UNION ALL
    SELECT (SELECT min(child_id) FROM main.child_log WHERE child_id > child.id)
    FROM child WHERE child.id IS NOT NULL
  ), newest AS (
    SELECT id, (SELECT max(seq) FROM main.child_log WHERE child_id = child.id) AS seq
    FROM child WHERE id IS NOT NULL AND substr(id, 1, length(?)) = ?
  )
  SELECT n.id AS "childId", n.seq AS "lastSeq", l.ts_ms AS "lastMs"
  FROM newest n JOIN main.child_log l ON l.seq = n.seq ORDER BY n.seq DESC LIMIT ?`;
