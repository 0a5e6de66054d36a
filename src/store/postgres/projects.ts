import type { ProjectStore } from '../../core/ports/projects.ts';
import type { ListedPrune, PruneSummary, RunSummary } from '../../core/ports/records.ts';
import type { StoredEvent } from '../../core/ports.ts';
import { EVENT_COLUMNS, type EventRow, eventOf } from '../log-rows.ts';
import type { Database } from './database.ts';
import { type DecisionRow, decisionOf } from './decisions.ts';
import { fromPg, toPg, toPgOrNull } from './text.ts';

const MAX_ROWS = 10_000;
/** Adopting reads all prunes that nobody has, once. */
const ADOPT_WAIT_MS = 60_000;
const COLUMNS = 'id, prune_id, decision_key AS key, body, created_ms, expires_ms';
const OWNED = 'id IN (SELECT prune FROM mcp_pruner.prune_owner WHERE project = ANY ($1))';

type PruneRow = DecisionRow & { readonly id: number; readonly prune_id: string; readonly created_ms: number };
type Sizes = Awaited<ReturnType<ProjectStore['sizes']>>;

export interface DatabaseProjectsParts {
  readonly nowMs: () => number;
  /** The expiry that counts, noted uses included. */
  readonly expiryOf: (pruneId: string, storedMs: number) => number;
}

/** `ProjectStore` on PostgreSQL. */
export class DatabaseProjects implements ProjectStore {
  readonly #database: Database;
  readonly #parts: DatabaseProjectsParts;

  constructor(database: Database, parts: DatabaseProjectsParts) {
    this.#database = database;
    this.#parts = parts;
  }

  async owned(projects: readonly string[], pruneIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#database.query<{ prune_id: string }>(
      `SELECT p.prune_id FROM mcp_pruner.prune p WHERE p.prune_id = ANY ($2)
       AND EXISTS (SELECT 1 FROM mcp_pruner.prune_owner o WHERE o.prune = p.id AND o.project = ANY ($1))`,
      [projects.map(toPg), pruneIds.map(toPg)],
    );
    return new Set(rows.map(({ prune_id }) => fromPg(prune_id)));
  }

  async claim(project: string, pruneIds: readonly string[]): Promise<void> {
    if (pruneIds.length === 0) return;
    await this.#database.write(
      `INSERT INTO mcp_pruner.prune_owner (prune, project)
       SELECT id, $1 FROM mcp_pruner.prune WHERE prune_id = ANY ($2) ORDER BY id ON CONFLICT DO NOTHING`,
      [toPg(project), pruneIds.map(toPg)],
    );
  }

  async adopt(): Promise<void> {
    await this.#database.transaction(async (client) => {
      await client.query("SELECT 1 FROM mcp_pruner.meter WHERE name = 'prunes_adopted' FOR UPDATE"); // one at a time
      await client.query(ADOPT);
      await client.query(
        `UPDATE mcp_pruner.meter SET value = greatest(value, (SELECT coalesce(max(id), 0) FROM mcp_pruner.prune))
         WHERE name = 'prunes_adopted'`,
      );
    }, ADOPT_WAIT_MS);
  }

  async events(
    projects: readonly string[],
    { runId, fromSeq, limit }: Parameters<ProjectStore['events']>[1],
  ): Promise<readonly StoredEvent[]> {
    const rows = await this.#database.query<EventRow>(
      `SELECT ${EVENT_COLUMNS} FROM mcp_pruner.event WHERE project = ANY ($1) AND ($2::text IS NULL OR run_id = $2)
       AND seq >= $3 ORDER BY seq LIMIT $4`,
      [projects.map(toPg), toPgOrNull(runId), Math.trunc(fromSeq), bounded(limit)],
    );
    return rows.map((row) => eventOf(row, fromPg));
  }

  async runs(
    projects: readonly string[],
    { prefix, limit }: Parameters<ProjectStore['runs']>[1],
  ): Promise<readonly RunSummary[]> {
    const rows = await this.#database.query<RunSummary>(
      `SELECT r.id AS "runId", r.first_seq AS "firstSeq", r.last_seq AS "lastSeq", e.ts_ms AS "lastMs" FROM (
         SELECT run_id AS id, min(seq) AS first_seq, max(seq) AS last_seq FROM mcp_pruner.event
         WHERE project = ANY ($1) AND starts_with(run_id, $2) GROUP BY run_id
       ) r JOIN mcp_pruner.event e ON e.seq = r.last_seq ORDER BY r.last_seq DESC LIMIT $3`,
      [projects.map(toPg), toPg(prefix), bounded(limit)],
    );
    return rows.map((row) => ({ ...row, runId: fromPg(row.runId) }));
  }

  async lastSeq(projects: readonly string[], runId?: string): Promise<number> {
    const [row] = await this.#database.query<{ seq: number | null }>(
      `SELECT max(seq) AS seq FROM mcp_pruner.event WHERE project = ANY ($1) AND ($2::text IS NULL OR run_id = $2)`,
      [projects.map(toPg), toPgOrNull(runId)],
    );
    return row?.seq ?? 0;
  }

  async prunes(
    projects: readonly string[],
    { prefix, limit }: Parameters<ProjectStore['prunes']>[1],
  ): Promise<readonly PruneSummary[]> {
    const rows = await this.#database.query<PruneRow>(
      `SELECT ${COLUMNS} FROM mcp_pruner.prune WHERE ${OWNED} AND starts_with(prune_id, $2) AND expires_ms > $3
       ORDER BY expires_ms DESC LIMIT $4`,
      [projects.map(toPg), toPg(prefix), this.#parts.nowMs(), bounded(limit)],
    );
    return rows.map((row) => this.#summaryOf(row));
  }

  async prunesByAge(
    projects: readonly string[],
    { before = Number.MAX_SAFE_INTEGER, limit }: Parameters<ProjectStore['prunesByAge']>[1],
  ): Promise<readonly ListedPrune[]> {
    const rows = await this.#database.query<PruneRow>(
      `SELECT ${COLUMNS} FROM mcp_pruner.prune WHERE ${OWNED} AND id < $2 AND expires_ms > $3 ORDER BY id DESC LIMIT $4`,
      [projects.map(toPg), before, this.#parts.nowMs(), bounded(limit)],
    );
    return rows.map((row) => ({ ...this.#summaryOf(row), row: row.id }));
  }

  async sizes(projects: readonly string[]): Promise<Sizes> {
    const [row] = await this.#database.query<Sizes>(
      `SELECT min(created_ms) AS "oldestMs", max(created_ms) AS "newestMs", min(expires_ms) AS "nextExpiryMs",
         max(expires_ms) AS "lastExpiryMs", count(*) AS prunes, count(DISTINCT snapshot) AS snapshots,
         coalesce(sum(s.stored_bytes), 0)::bigint AS bytes
       FROM mcp_pruner.prune p JOIN mcp_pruner.snapshot s ON s.id = p.snapshot WHERE p.${OWNED}`,
      [projects.map(toPg)],
    );
    return row ?? NOTHING;
  }

  #summaryOf(row: PruneRow): PruneSummary {
    const { tool, sourceType, lines, keptLines } = decisionOf(row);
    const expiresMs = this.#parts.expiryOf(row.prune_id, row.expires_ms);
    return { pruneId: row.prune_id, tool, sourceType, lines, keptLines, createdMs: row.created_ms, expiresMs };
  }
}

const NOTHING: Sizes = {
  ...{ oldestMs: null, newestMs: null, nextExpiryMs: null, lastExpiryMs: null },
  ...{ prunes: 0, snapshots: 0, bytes: 0 },
};

/** Conversations whose provider checks the past are noted apart, behind a line break. */
const ADOPT = `
  WITH nobodys AS (
    SELECT p.id, p.prune_id FROM mcp_pruner.prune p
    WHERE p.id > (SELECT value FROM mcp_pruner.meter WHERE name = 'prunes_adopted')
      AND NOT EXISTS (SELECT 1 FROM mcp_pruner.prune_owner o WHERE o.prune = p.id))
  INSERT INTO mcp_pruner.prune_owner (prune, project)
  SELECT n.id, split_part(c.project, chr(10), 1) FROM nobodys n JOIN mcp_pruner.charge h ON h.prune = n.id
    JOIN mcp_pruner.conversation c ON c.name = h.conversation
  UNION SELECT n.id, split_part(s.project, chr(10), 1) FROM nobodys n
    JOIN mcp_pruner.segment_prune l ON l.prune_id = n.prune_id JOIN mcp_pruner.segment s ON s.id = l.segment
  UNION SELECT n.id, 'default' FROM nobodys n
    WHERE NOT EXISTS (SELECT 1 FROM mcp_pruner.charge h WHERE h.prune = n.id)
      AND NOT EXISTS (SELECT 1 FROM mcp_pruner.segment_prune l WHERE l.prune_id = n.prune_id)
  ON CONFLICT DO NOTHING`;

function bounded(limit: number): number {
  return Math.min(Math.max(0, Math.trunc(limit)), MAX_ROWS);
}
