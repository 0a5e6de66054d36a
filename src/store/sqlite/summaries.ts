import type { Database } from 'better-sqlite3';
import type { RunSummary, StoreAges } from '../../core/ports/records.ts';

/** A row that a list of prunes is made of. */
export interface PruneListRow {
  readonly id: number;
  readonly prune_id: string;
  readonly decision_key: string;
  readonly body: string;
  readonly created_ms: number;
  readonly expires_ms: number;
}

/** Runs and prunes as lists; found by their indexes, without a walk through all events. */
export class Summaries {
  readonly #runs;
  readonly #lastOfRun;
  readonly #last;
  readonly #prunes;
  readonly #prunesByAge;
  readonly #ages;

  constructor(db: Database) {
    this.#runs = db.prepare<[string, string, number], RunSummary>(
      `WITH RECURSIVE run (id) AS (
         SELECT min(run_id) FROM event
         UNION ALL
         SELECT (SELECT min(run_id) FROM event WHERE run_id > run.id) FROM run WHERE run.id IS NOT NULL
       ), bounds AS (
         SELECT id,
           (SELECT min(seq) FROM event WHERE run_id = run.id) AS first_seq,
           (SELECT max(seq) FROM event WHERE run_id = run.id) AS last_seq
         FROM run WHERE id IS NOT NULL AND substr(id, 1, length(?)) = ?
       )
       SELECT b.id AS runId, b.first_seq AS firstSeq, b.last_seq AS lastSeq, e.ts_ms AS lastMs
       FROM bounds b JOIN event e ON e.seq = b.last_seq ORDER BY b.last_seq DESC LIMIT ?`,
    );
    this.#lastOfRun = db.prepare<[string], number>('SELECT max(seq) FROM event WHERE run_id = ?').pluck();
    this.#last = db.prepare<[], number>('SELECT max(seq) FROM event').pluck();
    this.#prunes = db.prepare<[string, string, number, number], PruneListRow>(
      `SELECT id, prune_id, decision_key, body, created_ms, expires_ms FROM prune
       WHERE substr(prune_id, 1, length(?)) = ? AND expires_ms > ? ORDER BY expires_ms DESC LIMIT ?`,
    );
    this.#prunesByAge = db.prepare<[number, number, number], PruneListRow>(
      `SELECT id, prune_id, decision_key, body, created_ms, expires_ms FROM prune
       WHERE id < ? AND expires_ms > ? ORDER BY id DESC LIMIT ?`,
    );
    this.#ages = db.prepare<[], StoreAges>(
      `SELECT (SELECT created_ms FROM prune ORDER BY id LIMIT 1) AS oldestMs,
         (SELECT created_ms FROM prune ORDER BY id DESC LIMIT 1) AS newestMs,
         (SELECT min(expires_ms) FROM prune) AS nextExpiryMs, (SELECT max(expires_ms) FROM prune) AS lastExpiryMs`,
    );
  }

  runs(prefix: string, limit: number): RunSummary[] {
    return this.#runs.all(prefix, prefix, limit);
  }

  lastSeqOfRun(runId: string): number {
    return this.#lastOfRun.get(runId) ?? 0;
  }

  lastSeq(): number {
    return this.#last.get() ?? 0;
  }

  prunes(prefix: string, nowMs: number, limit: number): PruneListRow[] {
    return this.#prunes.all(prefix, prefix, nowMs, limit);
  }

  prunesByAge(before: number, nowMs: number, limit: number): PruneListRow[] {
    return this.#prunesByAge.all(before, nowMs, limit);
  }

  ages(): StoreAges {
    return this.#ages.get() ?? { oldestMs: null, newestMs: null, nextExpiryMs: null, lastExpiryMs: null };
  }
}
