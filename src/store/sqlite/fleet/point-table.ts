import type { Database } from 'better-sqlite3';
import type { PointChange, StoredPoint } from '../../../core/ports/fleet.ts';
import { Statements } from './statements.ts';

const MAX_POINTS = 10_000;

/** Pheromones, one row for each node and type. */
export class PointTable {
  readonly #sql: Statements;

  constructor(db: Database) {
    this.#sql = new Statements(db);
  }

  all(): StoredPoint[] {
    return this.#sql.all(
      'SELECT node_id AS nodeId, type, intensity, updated_ms AS updatedAt FROM fleet_point ORDER BY node_id, type',
    );
  }

  find(nodeId: string, type: string): StoredPoint | null {
    return this.#sql.one(
      `SELECT node_id AS nodeId, type, intensity, updated_ms AS updatedAt FROM fleet_point
       WHERE node_id = ? AND type = ?`,
      nodeId,
      type,
    );
  }

  /** Whether so many further points have room. */
  hasRoomFor(more: number): boolean {
    return this.#sql.number('SELECT count(*) AS value FROM fleet_point') + more <= MAX_POINTS;
  }

  /** Writes a point; one without intensity goes. */
  put(point: StoredPoint): PointChange {
    const { nodeId, type, intensity, updatedAt } = point;
    if (intensity > 0) {
      this.#sql.run(
        `INSERT INTO fleet_point VALUES (?, ?, ?, ?)
         ON CONFLICT (node_id, type) DO UPDATE SET intensity = excluded.intensity, updated_ms = excluded.updated_ms`,
        nodeId,
        type,
        intensity,
        updatedAt,
      );
    } else this.#sql.run('DELETE FROM fleet_point WHERE node_id = ? AND type = ?', nodeId, type);
    const total = this.#sql.one<{ intensity: number | null; updatedAt: number | null }>(
      'SELECT sum(intensity) AS intensity, max(updated_ms) AS updatedAt FROM fleet_point WHERE node_id = ?',
      nodeId,
    );
    const nodeTotal = { nodeId, intensity: total?.intensity ?? 0, updatedAt: total?.updatedAt ?? updatedAt };
    return { point, nodeTotal };
  }
}
