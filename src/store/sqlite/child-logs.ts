import type { ChildLogRecord, ChildSummary, StoredChildLog } from '../../core/ports/records.ts';
import { CHILD_LOG_COLUMNS, type ChildLogRow, childLogOf } from '../log-rows.ts';
import type { Statements } from './statements.ts';

/** What agents said and did, numbered without reuse. */
export class ChildLogs {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Adds lines of agents and deletes the oldest beyond the newest `keep`, inside the caller's transaction. */
  add(entries: readonly ChildLogRecord[], keep: number): void {
    for (const { tsMs, childId, runId, stream, message, parsed, ...about } of entries) {
      const { opId = null, jobId = null, graphId = null, nodeId = null } = about;
      const text = parsed === null ? null : JSON.stringify(parsed);
      this.#sql.run(
        `INSERT INTO child_log (ts_ms, child_id, run_id, stream, message, parsed, op_id, job_id, graph_id, node_id)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[Math.trunc(tsMs), childId, runId, stream, message, text, opId, jobId, graphId, nodeId],
      );
    }
    this.#sql.trimLog('child_log', keep, entries.length * 2);
  }

  /** Ascending from `fromSeq` on, at most `limit`. */
  list(childId: string, fromSeq: number, limit: number): StoredChildLog[] {
    const sql = `SELECT ${CHILD_LOG_COLUMNS} FROM child_log WHERE child_id = ? AND seq >= ? ORDER BY seq LIMIT ?`;
    return this.#sql.all<ChildLogRow>(sql, childId, fromSeq, limit).map((row) => childLogOf(row));
  }

  lastSeq(childId: string): number {
    return this.#sql.value('SELECT max(seq) FROM child_log WHERE child_id = ?', childId) ?? 0;
  }

  /** Agents whose id begins with a prefix, the one that said something last first. */
  children(prefix: string, limit: number): ChildSummary[] {
    return this.#sql.all(
      `WITH RECURSIVE child (id) AS (
         SELECT min(child_id) FROM child_log
         UNION ALL
         SELECT (SELECT min(child_id) FROM child_log WHERE child_id > child.id) FROM child WHERE child.id IS NOT NULL
       ), newest AS (
         SELECT id, (SELECT max(seq) FROM child_log WHERE child_id = child.id) AS seq
         FROM child WHERE id IS NOT NULL AND substr(id, 1, length(?)) = ?
       )
       SELECT n.id AS childId, n.seq AS lastSeq, l.ts_ms AS lastMs
       FROM newest n JOIN child_log l ON l.seq = n.seq ORDER BY n.seq DESC LIMIT ?`,
      ...[prefix, prefix, limit],
    );
  }
}
