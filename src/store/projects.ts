import type { ProjectStore } from '../core/ports/projects.ts';
import type { ListedPrune, PruneSummary, RunSummary } from '../core/ports/records.ts';
import type { StoredEvent } from '../core/ports.ts';
import { EVENT_COLUMNS, type EventRow, eventOf } from './logs.ts';
import { IS_CUT, LISTED, type ListedRow, summaryOf } from './prune-rows.ts';
import { bounded, change, type Sql, type Steps, turn } from './sql/steps.ts';

type Query<Name extends 'events' | 'runs' | 'prunes' | 'prunesByAge'> = Parameters<ProjectStore[Name]>[1];
type Sizes = Awaited<ReturnType<ProjectStore['sizes']>>;

const OWNED = 'id IN (SELECT prune FROM main.prune_owner WHERE project IN LIST(?))';
/** Repeats the condition of the partial index `event_project`, so that the planner uses it. */
const EVENTS = 'main.event WHERE project IS NOT NULL AND project IN LIST(?)';
const OF_RUN = '(CAST(? AS text) IS NULL OR run_id = ?)';

/** Long wait, because adoption reads all prunes without an owner once. */
const ADOPT_WAIT_MS = 60_000;
const NEWEST = 'SELECT coalesce(max(id), 0) FROM main.prune';
const ADOPT = `
  INSERT INTO main.prune_owner (prune, project)
  WITH nobodys AS (
    SELECT p.id, p.prune_id FROM main.prune p
    WHERE p.id > (SELECT value FROM main.meter WHERE name = 'prunes_adopted')
      AND NOT EXISTS (SELECT 1 FROM main.prune_owner o WHERE o.prune = p.id))
  SELECT n.id, FIRST_LINE(c.project) FROM nobodys n JOIN main.charge h ON h.prune = n.id
    JOIN main.conversation c ON c.name = h.conversation
  UNION SELECT n.id, FIRST_LINE(s.project) FROM nobodys n JOIN main.segment_prune l ON l.prune_id = n.prune_id
    JOIN main.segment s ON s.id = l.segment
  UNION SELECT n.id, r.project FROM nobodys n JOIN main.recall r ON r.prune = n.id
  UNION SELECT n.id, 'default' FROM nobodys n WHERE NOT EXISTS (SELECT 1 FROM main.charge h WHERE h.prune = n.id)
    AND NOT EXISTS (SELECT 1 FROM main.recall r WHERE r.prune = n.id)
    AND NOT EXISTS (SELECT 1 FROM main.segment_prune l WHERE l.prune_id = n.prune_id)
  ON CONFLICT DO NOTHING`;

/** `ProjectStore` on the tables of either database. */
export class StoredProjects implements ProjectStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async claim(project: string, pruneIds: readonly string[]): Promise<void> {
    if (pruneIds.length === 0) return;
    await this.#sql.once(
      `INSERT INTO main.prune_owner (prune, project)
       SELECT id, ? FROM main.prune WHERE prune_id IN LIST(?) ORDER BY id ON CONFLICT DO NOTHING`,
      [[project, pruneIds]],
    );
  }

  async adopt(): Promise<void> {
    const work = function* (): Steps<void> {
      yield* turn('adopt');
      yield* change(ADOPT);
      yield* change(`UPDATE main.meter SET value = (${NEWEST}) WHERE name = 'prunes_adopted' AND value < (${NEWEST})`);
    };
    await this.#sql.write(work, { waitMs: ADOPT_WAIT_MS });
  }

  async owned(projects: readonly string[], pruneIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#sql.all<{ prune_id: string }>(
      `SELECT p.prune_id FROM main.prune p WHERE p.prune_id IN LIST(?)
       AND EXISTS (SELECT 1 FROM main.prune_owner o WHERE o.prune = p.id AND o.project IN LIST(?))`,
      [pruneIds, projects],
    );
    return new Set(rows.map(({ prune_id }) => prune_id));
  }

  async events(
    projects: readonly string[],
    { fromSeq, limit, ...of }: Query<'events'>,
  ): Promise<readonly StoredEvent[]> {
    const { runId = null } = of;
    const rows = await this.#sql.all<EventRow>(
      `SELECT ${EVENT_COLUMNS} FROM ${EVENTS} AND ${OF_RUN} AND seq >= ? ORDER BY seq LIMIT ?`,
      [projects, runId, runId, Math.trunc(fromSeq), bounded(limit)],
    );
    return rows.map(eventOf);
  }

  runs(projects: readonly string[], { prefix, limit }: Query<'runs'>): Promise<readonly RunSummary[]> {
    return this.#sql.all(
      `SELECT r.id AS "runId", r.first_seq AS "firstSeq", r.last_seq AS "lastSeq", e.ts_ms AS "lastMs" FROM (
         SELECT run_id AS id, min(seq) AS first_seq, max(seq) AS last_seq FROM ${EVENTS}
         AND substr(run_id, 1, length(?)) = ? GROUP BY run_id
       ) r JOIN main.event e ON e.seq = r.last_seq ORDER BY r.last_seq DESC LIMIT ?`,
      [projects, prefix, prefix, bounded(limit)],
    );
  }

  async lastSeq(projects: readonly string[], runId: string | null = null): Promise<number> {
    const sql = `SELECT max(seq) AS seq FROM ${EVENTS} AND ${OF_RUN}`;
    const [row] = await this.#sql.all<{ seq: number | null }>(sql, [projects, runId, runId]);
    return row?.seq ?? 0;
  }

  async prunes(projects: readonly string[], { prefix, limit }: Query<'prunes'>): Promise<readonly PruneSummary[]> {
    const rows = await this.#sql.all<ListedRow>(
      `SELECT ${LISTED} FROM main.prune WHERE ${OWNED} AND ${IS_CUT} AND substr(prune_id, 1, length(?)) = ? AND expires_ms > ?
       ORDER BY expires_ms DESC LIMIT ?`,
      [projects, prefix, prefix, this.#sql.nowMs(), bounded(limit)],
    );
    return rows.map((row) => summaryOf(this.#sql, row));
  }

  async prunesByAge(
    projects: readonly string[],
    { before = Number.MAX_SAFE_INTEGER, limit }: Query<'prunesByAge'>,
  ): Promise<readonly ListedPrune[]> {
    const rows = await this.#sql.all<ListedRow>(
      `SELECT ${LISTED} FROM main.prune WHERE ${OWNED} AND ${IS_CUT} AND id < ? AND expires_ms > ? ORDER BY id DESC LIMIT ?`,
      [projects, before, this.#sql.nowMs(), bounded(limit)],
    );
    return rows.map((row) => ({ ...summaryOf(this.#sql, row), row: row.id }));
  }

  async sizes(projects: readonly string[]): Promise<Sizes> {
    const [row] = await this.#sql.all<Sizes>(
      `SELECT min(created_ms) AS "oldestMs", max(created_ms) AS "newestMs", min(expires_ms) AS "nextExpiryMs",
         max(expires_ms) AS "lastExpiryMs", count(*) AS prunes, count(DISTINCT snapshot) AS snapshots,
         CAST(coalesce(sum(s.stored_bytes), 0) AS bigint) AS bytes
       FROM main.prune p JOIN main.snapshot s ON s.id = p.snapshot WHERE p.${OWNED}`,
      [projects],
    );
    return row ?? NOTHING;
  }
}

const NOTHING: Sizes = {
  ...{ oldestMs: null, newestMs: null, nextExpiryMs: null, lastExpiryMs: null },
  ...{ prunes: 0, snapshots: 0, bytes: 0 },
};
