import type { EventRecord, StoredEvent } from '../../core/ports.ts';
import { EVENT_COLUMNS, type EventRow, eventOf } from '../log-rows.ts';
import type { Statements } from './statements.ts';

/** The bounded history of what happened, numbered without reuse. */
export class Events {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Adds events and deletes the oldest beyond the newest `keep`, inside the caller's transaction. */
  add(events: readonly EventRecord[], keep: number): void {
    for (const { tsMs, kind, level, runId, opId, payload, ...about } of events) {
      const { jobId = null, graphId = null, nodeId = null, childId = null, project = null } = about;
      const text = JSON.stringify(payload);
      this.#sql.run(
        `INSERT INTO event (ts_ms, kind, level, run_id, op_id, job_id, graph_id, node_id, child_id, payload, project)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ...[Math.trunc(tsMs), kind, level, runId, opId, jobId, graphId, nodeId, childId, text, project],
      );
    }
    this.#sql.trimLog('event', keep, events.length * 2);
  }

  /** Ascending from `fromSeq` on, at most `limit`. */
  list({ runId, fromSeq, limit }: { runId?: string; fromSeq: number; limit: number }): StoredEvent[] {
    const [ofRun, run] = runId === undefined ? ['', []] : ['run_id = ? AND', [runId]];
    const sql = `SELECT ${EVENT_COLUMNS} FROM event WHERE ${ofRun} seq >= ? ORDER BY seq LIMIT ?`;
    return this.#sql.all<EventRow>(sql, ...run, fromSeq, limit).map((row) => eventOf(row));
  }
}
