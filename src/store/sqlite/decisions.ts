import type { Snapshots } from './snapshots.ts';
import type { Statements } from './statements.ts';

export interface PruneRow {
  readonly id: number;
  readonly prune_id: string;
  readonly snapshot: number;
  readonly hash: string;
  readonly decision_key: string;
  readonly body: string;
  readonly created_ms: number;
  readonly expires_ms: number;
}

/** A candidate for eviction: a prune, or a decision to keep a text whole. */
export interface Oldest {
  readonly id: number;
  readonly expires_ms: number;
}

/**
 * Decisions by key and prunes by id. Several decisions may share a prune; a prune belongs to one text forever. Expired
 * rows are returned too: the caller checks the clock.
 */
export class Decisions {
  readonly #sql: Statements;
  readonly #snapshots: Snapshots;

  constructor(sql: Statements, snapshots: Snapshots) {
    this.#sql = sql;
    this.#snapshots = snapshots;
  }

  prune(pruneId: string): PruneRow | null {
    const row = this.#sql.get<PruneRow>(
      `SELECT p.id, p.prune_id, p.snapshot, s.hash, p.decision_key, p.body, p.created_ms, p.expires_ms
       FROM prune p JOIN snapshot s ON s.id = p.snapshot WHERE p.prune_id = ?`,
      [pruneId],
    );
    return row ?? null;
  }

  /** Stored expiries of prunes, by id. */
  prunesUntil(pruneIds: readonly string[]): Map<string, number> {
    const rows = this.#sql.tuplesOf<readonly [string, number]>(
      'SELECT prune_id, expires_ms FROM prune WHERE prune_id IN LIST(?)',
      [pruneIds],
    );
    return new Map(rows);
  }

  /** The prune with the earliest expiry, i.e. the least recently used one. */
  oldestPrune(): Oldest | undefined {
    return this.#sql.get('SELECT id, expires_ms FROM prune ORDER BY expires_ms LIMIT 1');
  }

  /** The decision to keep a text whole with the earliest expiry. */
  oldestWhole(): Oldest | undefined {
    return this.#sql.get('SELECT id, expires_ms FROM decision WHERE prune IS NULL ORDER BY expires_ms LIMIT 1');
  }

  /** Deletes a prune, its decisions, and its text if no other prune needs it. */
  removePrune(id: number): void {
    const snapshot = this.#sql.value('SELECT snapshot FROM prune WHERE id = ?', [id]);
    this.deletePrune(id);
    if (snapshot !== undefined) this.#snapshots.dropOrphan(snapshot);
  }

  /** Deletes a prune with its decisions. */
  deletePrune(id: number): void {
    this.#sql.run('DELETE FROM prune WHERE id = ?', [id]);
  }

  /** Deletes a text by its hash, with all its prunes. @returns their ids */
  removeText(hash: string): string[] {
    const rows = this.#sql.all<{ id: number; prune_id: string }>(
      'SELECT p.id, p.prune_id FROM prune p JOIN snapshot s ON s.id = p.snapshot WHERE s.hash = ?',
      [hash],
    );
    for (const { id } of rows) this.removePrune(id);
    return rows.map(({ prune_id }) => prune_id);
  }

  /** Like `removePrune`, by prune ids; returns the number of deleted prunes. */
  erase(pruneIds: readonly string[]): number {
    const rows = pruneIds.flatMap((pruneId) => this.prune(pruneId) ?? []);
    for (const { id } of rows) this.removePrune(id);
    return rows.length;
  }

  removeWhole(id: number): void {
    this.#sql.run('DELETE FROM decision WHERE id = ?', [id]);
  }
}
