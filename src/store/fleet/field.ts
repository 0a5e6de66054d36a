import type { FieldStore, FleetEvent, PointChange, StoredPoint } from '../../core/ports/fleet.ts';
import { PointTable } from './point-table.ts';
import { type FleetAccess, type Steps, tell } from './steps.ts';

const points = new PointTable();

/** `FieldStore` on whatever holds its tables. */
export class StoredField implements FieldStore {
  readonly #access: FleetAccess;

  constructor(access: FleetAccess) {
    this.#access = access;
  }

  mark(
    marks: Parameters<FieldStore['mark']>[0],
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[] | null> {
    return this.#access.write(function* (nowMs): Steps<readonly PointChange[] | null> {
      const fresh = new Set<string>();
      for (const { nodeId, type } of marks) {
        if ((yield* points.find(nodeId, type)) === null) fresh.add(JSON.stringify([nodeId, type]));
      }
      if (!(yield* points.hasRoomFor(fresh.size))) return null;
      const changes: PointChange[] = [];
      for (const { nodeId, type, intensity } of marks) {
        const before = (yield* points.find(nodeId, type))?.intensity ?? 0;
        const change = yield* points.put({ nodeId, type, intensity: before + intensity, updatedAt: nowMs });
        yield* tell(events(change), nowMs);
        changes.push(change);
      }
      return changes;
    });
  }

  update(
    change: (point: StoredPoint, nowMs: number) => StoredPoint,
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[]> {
    return this.#access.write(function* (nowMs) {
      const changes: PointChange[] = [];
      for (const point of yield* points.all()) changes.push(yield* points.put(change(point, nowMs)));
      yield* tell(changes.flatMap(events), nowMs);
      return changes;
    });
  }

  points() {
    return this.#access.read(function* (nowMs) {
      return { points: yield* points.all(), atMs: nowMs };
    });
  }
}
