import type { Database } from 'better-sqlite3';
import type { ProjectStore } from '../../core/ports/projects.ts';
import type { ListedPrune, PruneSummary, RunSummary, StoreAges } from '../../core/ports/records.ts';
import type { StoredEvent } from '../../core/ports.ts';
import { decodeBody } from '../decision-codec.ts';
import { EVENT_COLUMNS, type EventRow, eventOf } from '../log-rows.ts';
import { type Access, BACKGROUND_WAIT_MS } from './access.ts';
import type { PruneListRow } from './summaries.ts';

const MAX_ROWS = 10_000;

type Sizes = Awaited<ReturnType<ProjectStore['sizes']>>;

/** `ProjectStore` on the tables of a store's file. */
export class FileProjects implements ProjectStore {
  readonly #access: Access;
  readonly #prepared = new WeakMap<Database, ReturnType<typeof prepare>>();

  constructor(access: Access) {
    this.#access = access;
  }

  owned(projects: readonly string[], pruneIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#access.read(({ owners }) => new Set(owners.owned(projects, pruneIds)));
  }

  async claim(project: string, pruneIds: readonly string[]): Promise<void> {
    if (pruneIds.length === 0) return;
    await this.#access.write(({ owners }) => {
      for (const pruneId of pruneIds) owners.add(project, pruneId);
    });
  }

  async adopt(): Promise<void> {
    await this.#access.write(({ owners }) => owners.adopt(), { waitMs: BACKGROUND_WAIT_MS });
  }

  events(
    projects: readonly string[],
    { runId, fromSeq, limit }: Parameters<ProjectStore['events']>[1],
  ): Promise<readonly StoredEvent[]> {
    return this.#read(({ events }) =>
      events
        .all(JSON.stringify(projects), runId ?? null, runId ?? null, fromSeq, bounded(limit))
        .map((row) => eventOf(row)),
    );
  }

  runs(
    projects: readonly string[],
    { prefix, limit }: Parameters<ProjectStore['runs']>[1],
  ): Promise<readonly RunSummary[]> {
    return this.#read(({ runs }) => runs.all(JSON.stringify(projects), prefix, prefix, bounded(limit)));
  }

  lastSeq(projects: readonly string[], runId?: string): Promise<number> {
    return this.#read(({ last }) => last.get(JSON.stringify(projects), runId ?? null, runId ?? null) ?? 0);
  }

  prunes(
    projects: readonly string[],
    { prefix, limit }: Parameters<ProjectStore['prunes']>[1],
  ): Promise<readonly PruneSummary[]> {
    return this.#read(({ prunes }, nowMs) =>
      prunes.all(JSON.stringify(projects), prefix, prefix, nowMs, bounded(limit)).map((row) => this.#summaryOf(row)),
    );
  }

  prunesByAge(
    projects: readonly string[],
    { before = Number.MAX_SAFE_INTEGER, limit }: Parameters<ProjectStore['prunesByAge']>[1],
  ): Promise<readonly ListedPrune[]> {
    return this.#read(({ byAge }, nowMs) =>
      byAge
        .all(JSON.stringify(projects), before, nowMs, bounded(limit))
        .map((row) => ({ ...this.#summaryOf(row), row: row.id })),
    );
  }

  sizes(projects: readonly string[]): Promise<Sizes> {
    return this.#read(({ sizes }) => sizes.get(JSON.stringify(projects)) ?? NOTHING);
  }

  #summaryOf(row: PruneListRow): PruneSummary {
    const { tool, sourceType, lines, keptLines } = decodeBody(row.decision_key, row.prune_id, row.body);
    const expiresMs = this.#access.expiry('prune', row.prune_id, row.expires_ms);
    return { pruneId: row.prune_id, tool, sourceType, lines, keptLines, createdMs: row.created_ms, expiresMs };
  }

  #read<T>(work: (statements: ReturnType<typeof prepare>, nowMs: number) => T): Promise<T> {
    return this.#access.read(({ db }, nowMs) => {
      const statements = this.#prepared.get(db) ?? prepare(db);
      this.#prepared.set(db, statements);
      return work(statements, nowMs);
    });
  }
}

const NO_AGES: StoreAges = { oldestMs: null, newestMs: null, nextExpiryMs: null, lastExpiryMs: null };
const NOTHING: Sizes = { ...NO_AGES, prunes: 0, snapshots: 0, bytes: 0 };

function prepare(db: Database) {
  const mine = 'IN (SELECT value FROM json_each(?))';
  const owned = `id IN (SELECT prune FROM prune_owner WHERE project ${mine})`;
  const columns = 'id, prune_id, decision_key, body, created_ms, expires_ms';
  return {
    events: db.prepare<[string, string | null, string | null, number, number], EventRow>(
      `SELECT ${EVENT_COLUMNS} FROM event WHERE project IS NOT NULL AND project ${mine} AND (? IS NULL OR run_id = ?)
       AND seq >= ? ORDER BY seq LIMIT ?`,
    ),
    runs: db.prepare<[string, string, string, number], RunSummary>(
      `SELECT r.id AS runId, r.first_seq AS firstSeq, r.last_seq AS lastSeq, e.ts_ms AS lastMs FROM (
         SELECT run_id AS id, min(seq) AS first_seq, max(seq) AS last_seq FROM event
         WHERE project IS NOT NULL AND project ${mine} AND substr(run_id, 1, length(?)) = ? GROUP BY run_id
       ) r JOIN event e ON e.seq = r.last_seq ORDER BY r.last_seq DESC LIMIT ?`,
    ),
    last: db
      .prepare<[string, string | null, string | null], number | null>(
        `SELECT max(seq) FROM event WHERE project IS NOT NULL AND project ${mine} AND (? IS NULL OR run_id = ?)`,
      )
      .pluck(),
    prunes: db.prepare<[string, string, string, number, number], PruneListRow>(
      `SELECT ${columns} FROM prune WHERE ${owned} AND substr(prune_id, 1, length(?)) = ? AND expires_ms > ?
       ORDER BY expires_ms DESC LIMIT ?`,
    ),
    byAge: db.prepare<[string, number, number, number], PruneListRow>(
      `SELECT ${columns} FROM prune WHERE ${owned} AND id < ? AND expires_ms > ? ORDER BY id DESC LIMIT ?`,
    ),
    sizes: db.prepare<[string], Sizes>(
      `SELECT min(created_ms) AS oldestMs, max(created_ms) AS newestMs, min(expires_ms) AS nextExpiryMs,
         max(expires_ms) AS lastExpiryMs, count(*) AS prunes, count(DISTINCT snapshot) AS snapshots,
         coalesce(sum(s.stored_bytes), 0) AS bytes
       FROM prune p JOIN snapshot s ON s.id = p.snapshot WHERE p.${owned}`,
    ),
  };
}

function bounded(limit: number): number {
  return Math.min(Math.max(0, Math.trunc(limit)), MAX_ROWS);
}
