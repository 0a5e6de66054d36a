import type { FleetEvent, PlanRecord, PlanStore } from '../../../core/ports/fleet.ts';
import type { FleetAccess } from './fleet-tables.ts';

/** `PlanStore` on SQLite. */
export class FilePlans implements PlanStore {
  readonly #access: FleetAccess;

  constructor(access: FleetAccess) {
    this.#access = access;
  }

  begin(begun: Omit<PlanRecord, 'startedMs' | 'updatedMs'>, events: readonly FleetEvent[]): Promise<PlanRecord | null> {
    return this.#access.write(({ plans }, nowMs, tell) => {
      const known = plans.get(begun.runId);
      if (known !== null && (known.state === 'running' || known.state === 'paused')) return null;
      const record = { ...begun, startedMs: nowMs, updatedMs: nowMs };
      plans.put(record);
      tell(events);
      return record;
    });
  }

  async save(record: PlanRecord, events: readonly FleetEvent[], atMost: number): Promise<void> {
    await this.#access.write(({ plans }, nowMs, tell) => {
      plans.save({ ...record, updatedMs: nowMs });
      plans.trim(atMost);
      tell(events);
    });
  }

  get(runId: string): Promise<PlanRecord | null> {
    return this.#access.read(({ plans }) => plans.get(runId));
  }

  open(opId?: string): Promise<readonly PlanRecord[]> {
    return this.#access.read(({ plans }) => plans.open(opId ?? null));
  }

  byOperation(opId: string): Promise<PlanRecord | null> {
    return this.#access.read(({ plans }) => plans.byOperation(opId));
  }
}
