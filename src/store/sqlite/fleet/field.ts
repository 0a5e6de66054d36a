import type { FieldStore, FleetEvent, PointChange, StoredPoint } from '../../../core/ports/fleet.ts';
import type { FleetAccess } from './fleet-tables.ts';

/** `FieldStore` on SQLite. */
export class FileField implements FieldStore {
  readonly #access: FleetAccess;

  constructor(access: FleetAccess) {
    this.#access = access;
  }

  mark(marks: Parameters<FieldStore['mark']>[0], events: (change: PointChange) => readonly FleetEvent[]) {
    return this.#access.write<readonly PointChange[] | null>(({ points }, nowMs, tell) => {
      const fresh = new Set(
        marks
          .filter(({ nodeId, type }) => points.find(nodeId, type) === null)
          .map(({ nodeId, type }) => JSON.stringify([nodeId, type])),
      );
      if (!points.hasRoomFor(fresh.size)) return null;
      return marks.map(({ nodeId, type, intensity }) => {
        const before = points.find(nodeId, type)?.intensity ?? 0;
        const change = points.put({ nodeId, type, intensity: before + intensity, updatedAt: nowMs });
        tell(events(change));
        return change;
      });
    });
  }

  update(
    change: (point: StoredPoint, nowMs: number) => StoredPoint,
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[]> {
    return this.#access.write(({ points }, nowMs, tell) => {
      const changes = points.all().map((point) => points.put(change(point, nowMs)));
      tell(changes.flatMap(events));
      return changes;
    });
  }

  points() {
    return this.#access.read(({ points }, nowMs) => ({ points: points.all(), atMs: nowMs }));
  }
}
