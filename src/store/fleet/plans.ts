import type { FleetEvent, PlanRecord, PlanStore } from '../../core/ports/fleet.ts';
import { PlanTable } from './plan-table.ts';
import { type FleetAccess, tell } from './steps.ts';

const plans = new PlanTable();

/** `PlanStore` on whatever holds its tables. */
export class StoredPlans implements PlanStore {
  readonly #access: FleetAccess;

  constructor(access: FleetAccess) {
    this.#access = access;
  }

  begin(begun: Omit<PlanRecord, 'startedMs' | 'updatedMs'>, events: readonly FleetEvent[]): Promise<PlanRecord | null> {
    return this.#access.write(function* (nowMs) {
      const known = yield* plans.get(begun.runId);
      if (known !== null && (known.state === 'running' || known.state === 'paused')) return null;
      const record = { ...begun, startedMs: nowMs, updatedMs: nowMs };
      yield* plans.put(record);
      yield* tell(events, nowMs);
      return record;
    });
  }

  save(record: PlanRecord, events: readonly FleetEvent[], atMost: number): Promise<void> {
    return this.#access.write(function* (nowMs) {
      yield* plans.save({ ...record, updatedMs: nowMs });
      yield* plans.trim(atMost);
      yield* tell(events, nowMs);
    });
  }

  get(runId: string): Promise<PlanRecord | null> {
    return this.#access.read(() => plans.get(runId));
  }

  open(opId?: string): Promise<readonly PlanRecord[]> {
    return this.#access.read(() => plans.open(opId ?? null));
  }

  byOperation(opId: string): Promise<PlanRecord | null> {
    return this.#access.read(() => plans.byOperation(opId));
  }
}
