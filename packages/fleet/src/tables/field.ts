import { setImmediate as nextTurn } from 'node:timers/promises';
import { all, change, number, one, type Steps, type Transactions } from 'mcp-pruner/store/sql/steps.ts';
import type { FleetEvent, PointChange, StoredPoint } from '../ports.ts';
import { recordEvents } from './record.ts';

const MAX_POINTS = 10_000;
const SELECT = 'SELECT node_id AS "nodeId", type, intensity, updated_ms AS "updatedAt" FROM main.fleet_point';
/** Maximum number of points changed per transaction, because it blocks all other writers. */
const AT_ONCE = 200;
/** Sorts before all points, because no id is empty. */
const FIRST = { nodeId: '', type: '' };

export class FieldStore {
  readonly #access: Transactions;

  constructor(access: Transactions) {
    this.#access = access;
  }

  /** Adds to intensities, all or none; `null` if there is no room. */
  mark(
    marks: readonly Omit<StoredPoint, 'updatedAt'>[],
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[] | null> {
    return this.#access.write(function* (nowMs): Steps<readonly PointChange[] | null> {
      const fresh = new Set<string>();
      for (const { nodeId, type } of marks) {
        if ((yield* find(nodeId, type)) === null) fresh.add(JSON.stringify([nodeId, type]));
      }
      if ((yield* number('SELECT count(*) AS value FROM main.fleet_point')) + fresh.size > MAX_POINTS) return null;
      const changes: PointChange[] = [];
      for (const { nodeId, type, intensity } of marks) {
        const before = (yield* find(nodeId, type))?.intensity ?? 0;
        changes.push(yield* put({ nodeId, type, intensity: before + intensity, updatedAt: nowMs }));
      }
      yield* recordEvents(changes.flatMap(events), nowMs);
      return changes;
    });
  }

  /**
   * Replaces every point by the result of `changed`, a few hundred per transaction; points with intensity 0 are deleted.
   *
   * @param changed - must be pure, because it may be called again; several applications must equal one
   */
  async update(
    changed: (point: StoredPoint, nowMs: number) => StoredPoint,
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[]> {
    const changes: PointChange[] = [];
    let last = FIRST;
    for (;;) {
      const some = await this.#access.write(function* (nowMs): Steps<PointChange[]> {
        const done: PointChange[] = [];
        const behind = `${SELECT} WHERE (node_id, type) > (?, ?) ORDER BY node_id, type LIMIT ?`;
        const next = yield* all<StoredPoint>(behind, [last.nodeId, last.type, AT_ONCE]);
        for (const point of next) done.push(yield* put(changed(point, nowMs)));
        yield* recordEvents(done.flatMap(events), nowMs);
        return done;
      });
      changes.push(...some);
      if (some.length < AT_ONCE) return changes;
      last = some.at(-1)?.point ?? last;
      await nextTurn();
    }
  }

  points() {
    return this.#access.read(function* (nowMs) {
      return { points: yield* all<StoredPoint>(`${SELECT} ORDER BY node_id, type`), atMs: nowMs };
    });
  }
}

function* find(nodeId: string, type: string): Steps<StoredPoint | null> {
  return yield* one(`${SELECT} WHERE node_id = ? AND type = ?`, [nodeId, type]);
}

/** Writes a point, or deletes it if its intensity is 0. */
function* put(point: StoredPoint): Steps<PointChange> {
  const { nodeId, type, intensity, updatedAt } = point;
  if (intensity > 0) {
    yield* change(
      `INSERT INTO main.fleet_point VALUES (?, ?, ?, ?)
       ON CONFLICT (node_id, type) DO UPDATE SET intensity = excluded.intensity, updated_ms = excluded.updated_ms`,
      [nodeId, type, intensity, updatedAt],
    );
  } else yield* change('DELETE FROM main.fleet_point WHERE node_id = ? AND type = ?', [nodeId, type]);
  const total = yield* one<{ intensity: number | null; updatedAt: number | null }>(
    'SELECT sum(intensity) AS intensity, max(updated_ms) AS "updatedAt" FROM main.fleet_point WHERE node_id = ?',
    [nodeId],
  );
  const nodeTotal = { nodeId, intensity: total?.intensity ?? 0, updatedAt: total?.updatedAt ?? updatedAt };
  return { point, nodeTotal };
}
