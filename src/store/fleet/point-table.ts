import type { PointChange, StoredPoint } from '../../core/ports/fleet.ts';
import { all, change, number, one, type Steps } from './steps.ts';

const MAX_POINTS = 10_000;

/** Pheromones, one row for each node and type. */
export class PointTable {
  *all(): Steps<StoredPoint[]> {
    return yield* all(
      'SELECT node_id AS "nodeId", type, intensity, updated_ms AS "updatedAt" FROM fleet_point ORDER BY node_id, type',
    );
  }

  /** The next ones behind a point, or the first, by node and type. */
  *after({ nodeId, type }: Pick<StoredPoint, 'nodeId' | 'type'>, limit: number): Steps<StoredPoint[]> {
    return yield* all(
      `SELECT node_id AS "nodeId", type, intensity, updated_ms AS "updatedAt" FROM fleet_point
       WHERE (node_id, type) > (?, ?) ORDER BY node_id, type LIMIT ?`,
      nodeId,
      type,
      limit,
    );
  }

  *find(nodeId: string, type: string): Steps<StoredPoint | null> {
    return yield* one(
      `SELECT node_id AS "nodeId", type, intensity, updated_ms AS "updatedAt" FROM fleet_point
       WHERE node_id = ? AND type = ?`,
      nodeId,
      type,
    );
  }

  /** Whether so many further points have room. */
  *hasRoomFor(more: number): Steps<boolean> {
    return (yield* number('SELECT count(*) AS value FROM fleet_point')) + more <= MAX_POINTS;
  }

  /** Writes a point; one without intensity goes. */
  *put(point: StoredPoint): Steps<PointChange> {
    const { nodeId, type, intensity, updatedAt } = point;
    if (intensity > 0) {
      yield* change(
        `INSERT INTO fleet_point VALUES (?, ?, ?, ?)
         ON CONFLICT (node_id, type) DO UPDATE SET intensity = excluded.intensity, updated_ms = excluded.updated_ms`,
        nodeId,
        type,
        intensity,
        updatedAt,
      );
    } else yield* change('DELETE FROM fleet_point WHERE node_id = ? AND type = ?', nodeId, type);
    const total = yield* one<{ intensity: number | null; updatedAt: number | null }>(
      'SELECT sum(intensity) AS intensity, max(updated_ms) AS "updatedAt" FROM fleet_point WHERE node_id = ?',
      nodeId,
    );
    const nodeTotal = { nodeId, intensity: total?.intensity ?? 0, updatedAt: total?.updatedAt ?? updatedAt };
    return { point, nodeTotal };
  }
}
