import type { Database } from 'better-sqlite3';
import type { ChildLogRecord, ChildSummary, StoredChildLog } from '../../core/ports/records.ts';
import { CHILD_LOG_COLUMNS, type ChildLogRow, childLogOf } from '../log-rows.ts';

/** What agents said and did, numbered without reuse. */
export class ChildLogs {
  readonly #insert;
  readonly #ofChild;
  readonly #last;
  readonly #children;
  readonly #newest;
  readonly #trim;

  constructor(db: Database) {
    this.#insert = db.prepare<[number, string, ...(string | null)[]]>(
      `INSERT INTO child_log (ts_ms, child_id, run_id, stream, message, parsed, op_id, job_id, graph_id, node_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#ofChild = db.prepare<[string, number, number], ChildLogRow>(
      `SELECT ${CHILD_LOG_COLUMNS} FROM child_log WHERE child_id = ? AND seq >= ? ORDER BY seq LIMIT ?`,
    );
    this.#last = db.prepare<[string], number>('SELECT max(seq) FROM child_log WHERE child_id = ?').pluck();
    this.#children = db.prepare<[string, string, number], ChildSummary>(
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
    );
    this.#newest = db.prepare<[], number>('SELECT seq FROM child_log ORDER BY seq DESC LIMIT 1').pluck();
    this.#trim = db.prepare<[number, number]>(
      'DELETE FROM child_log WHERE seq IN (SELECT seq FROM child_log WHERE seq <= ? ORDER BY seq LIMIT ?)',
    );
  }

  add(entries: readonly ChildLogRecord[]): void {
    for (const { tsMs, childId, runId, stream, message, parsed, ...about } of entries) {
      const { opId = null, jobId = null, graphId = null, nodeId = null } = about;
      const text = parsed === null ? null : JSON.stringify(parsed);
      this.#insert.run(Math.trunc(tsMs), childId, runId, stream, message, text, opId, jobId, graphId, nodeId);
    }
  }

  /** Ascending from `fromSeq` on, at most `limit`. */
  list(childId: string, fromSeq: number, limit: number): StoredChildLog[] {
    return this.#ofChild.all(childId, fromSeq, limit).map((row) => childLogOf(row));
  }

  lastSeq(childId: string): number {
    return this.#last.get(childId) ?? 0;
  }

  /** Agents whose id begins with a prefix, the one that said something last first. */
  children(prefix: string, limit: number): ChildSummary[] {
    return this.#children.all(prefix, prefix, limit);
  }

  /** Deletes the oldest entries beyond the newest `keep`, at most `limit` of them; returns how many. */
  trim(keep: number, limit: number): number {
    const newest = this.#newest.get();
    return newest === undefined ? 0 : this.#trim.run(newest - keep, limit).changes;
  }
}
