import type { Database } from 'better-sqlite3';
import type { EventRecord, StoredEvent } from '../../core/ports.ts';
import { EVENT_COLUMNS, type EventRow, eventOf } from '../log-rows.ts';

/** The bounded history of what happened, numbered without reuse. */
export class Events {
  readonly #insert;
  readonly #all;
  readonly #ofRun;
  readonly #newest;
  readonly #trim;

  constructor(db: Database) {
    this.#insert = db.prepare<[number, string, string, string, ...(string | null)[]]>(
      `INSERT INTO event (ts_ms, kind, level, run_id, op_id, job_id, graph_id, node_id, child_id, payload, project)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#all = db.prepare<[number, number], EventRow>(
      `SELECT ${EVENT_COLUMNS} FROM event WHERE seq >= ? ORDER BY seq LIMIT ?`,
    );
    this.#ofRun = db.prepare<[string, number, number], EventRow>(
      `SELECT ${EVENT_COLUMNS} FROM event WHERE run_id = ? AND seq >= ? ORDER BY seq LIMIT ?`,
    );
    this.#newest = db.prepare<[], number>('SELECT seq FROM event ORDER BY seq DESC LIMIT 1').pluck();
    this.#trim = db.prepare<[number, number]>(
      'DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE seq <= ? ORDER BY seq LIMIT ?)',
    );
  }

  add(events: readonly EventRecord[]): void {
    for (const { tsMs, kind, level, runId, opId, payload, ...about } of events) {
      const { jobId = null, graphId = null, nodeId = null, childId = null, project = null } = about;
      const text = JSON.stringify(payload);
      this.#insert.run(Math.trunc(tsMs), kind, level, runId, opId, jobId, graphId, nodeId, childId, text, project);
    }
  }

  /** Ascending from `fromSeq` on, at most `limit`. */
  list({ runId, fromSeq, limit }: { runId?: string; fromSeq: number; limit: number }): StoredEvent[] {
    const rows = runId === undefined ? this.#all.all(fromSeq, limit) : this.#ofRun.all(runId, fromSeq, limit);
    return rows.map((row) => eventOf(row));
  }

  /** Deletes the oldest events beyond the newest `keep`, at most `limit` of them; returns how many. */
  trim(keep: number, limit: number): number {
    const newest = this.#newest.get();
    return newest === undefined ? 0 : this.#trim.run(newest - keep, limit).changes;
  }
}
