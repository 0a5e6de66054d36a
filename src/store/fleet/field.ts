import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FieldStore, FleetEvent, PointChange, StoredPoint } from '../../core/ports/fleet.ts';
import { PointTable } from './point-table.ts';
import { type FleetAccess, type Steps, tell } from './steps.ts';

const points = new PointTable();
/** Points that one transaction changes: it holds up whoever else wants to write. */
const AT_ONCE = 200;
/** Before all points: no id is empty. */
const FIRST = { nodeId: '', type: '' };

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
        changes.push(change);
      }
      yield* tell(changes.flatMap(events), nowMs);
      return changes;
    });
  }

  async update(
    change: (point: StoredPoint, nowMs: number) => StoredPoint,
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[]> {
    const changes: PointChange[] = [];
    let last = FIRST;
    for (;;) {
      const some = await this.#access.write(function* (nowMs): Steps<PointChange[]> {
        const done: PointChange[] = [];
        for (const point of yield* points.after(last, AT_ONCE)) done.push(yield* points.put(change(point, nowMs)));
        yield* tell(done.flatMap(events), nowMs);
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
      return { points: yield* points.all(), atMs: nowMs };
    });
  }
}
