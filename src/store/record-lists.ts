import type {
  ChildSummary,
  ListedPrune,
  PruneSummary,
  Records,
  RunSummary,
  StoreAges,
  StoredChildLog,
} from '../core/ports/records.ts';
import { CHILD_LOG_COLUMNS, type ChildLogRow, childLogOf } from './log-rows.ts';
import { IS_CUT, LISTED, type ListedRow, summaryOf } from './prune-rows.ts';
import { bounded, type Rows } from './sql/rows.ts';

/** The read methods of `Records`. */
export class RecordLists implements Omit<Records, 'addChildLogs' | `${'claim' | 'hold' | 'keep' | 'drop'}Reply`> {
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  runs({ prefix, limit }: Parameters<Records['runs']>[0]): Promise<readonly RunSummary[]> {
    return this.#rows.all(RUNS, [prefix, prefix, prefix, bounded(limit)]);
  }

  lastSeqOfRun(runId: string): Promise<number> {
    return this.#lastSeq('event WHERE run_id = ?', runId);
  }

  lastSeq(): Promise<number> {
    return this.#lastSeq('event');
  }

  async prunes({ prefix, limit }: Parameters<Records['prunes']>[0]): Promise<readonly PruneSummary[]> {
    const rows = await this.#rows.all<ListedRow>(
      `SELECT ${LISTED} FROM main.prune
       WHERE ${IS_CUT} AND substr(prune_id, 1, length(?)) = ? AND expires_ms > ? ORDER BY expires_ms DESC LIMIT ?`,
      [prefix, prefix, this.#rows.nowMs(), bounded(limit)],
    );
    return rows.map((row) => summaryOf(this.#rows, row));
  }

  async prunesByAge({ before, limit }: Parameters<Records['prunesByAge']>[0]): Promise<readonly ListedPrune[]> {
    const rows = await this.#rows.all<ListedRow>(
      `SELECT ${LISTED} FROM main.prune WHERE ${IS_CUT} AND id < ? AND expires_ms > ? ORDER BY id DESC LIMIT ?`,
      [before ?? Number.MAX_SAFE_INTEGER, this.#rows.nowMs(), bounded(limit)],
    );
    return rows.map((row) => ({ ...summaryOf(this.#rows, row), row: row.id }));
  }

  async ages(): Promise<StoreAges> {
    const [row] = await this.#rows.all<StoreAges>(
      `SELECT (SELECT created_ms FROM main.prune ORDER BY id LIMIT 1) AS "oldestMs",
         (SELECT created_ms FROM main.prune ORDER BY id DESC LIMIT 1) AS "newestMs",
         (SELECT min(expires_ms) FROM main.prune) AS "nextExpiryMs",
         (SELECT max(expires_ms) FROM main.prune) AS "lastExpiryMs"`,
    );
    return row ?? { oldestMs: null, newestMs: null, nextExpiryMs: null, lastExpiryMs: null };
  }

  async pruneState(pruneId: string): ReturnType<Records['pruneState']> {
    const [row] = await this.#rows.all<{ expires_ms: number }>('SELECT expires_ms FROM main.prune WHERE prune_id = ?', [
      pruneId,
    ]);
    if (!row) return 'unknown';
    return this.#rows.expiry('prune', pruneId, row.expires_ms) > this.#rows.nowMs() ? 'alive' : 'expired';
  }

  children({ prefix, limit }: Parameters<Records['children']>[0]): Promise<readonly ChildSummary[]> {
    return this.#rows.all(CHILDREN, [prefix, prefix, prefix, bounded(limit)]);
  }

  lastSeqOfChild(childId: string): Promise<number> {
    return this.#lastSeq('child_log WHERE child_id = ?', childId);
  }

  async childLogs(query: Parameters<Records['childLogs']>[0]): Promise<readonly StoredChildLog[]> {
    const rows = await this.#rows.all<ChildLogRow>(
      `SELECT ${CHILD_LOG_COLUMNS} FROM main.child_log WHERE child_id = ? AND seq >= ? ORDER BY seq LIMIT ?`,
      [query.childId, Math.trunc(query.fromSeq), bounded(query.limit)],
    );
    return rows.map(childLogOf);
  }

  async #lastSeq(from: string, ...values: string[]): Promise<number> {
    const [row] = await this.#rows.all<{ seq: number | null }>(`SELECT max(seq) AS seq FROM main.${from}`, values);
    return row?.seq ?? 0;
  }
}

/** The ids of a log with a prefix, each with its first and last number, found by the index. */
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
