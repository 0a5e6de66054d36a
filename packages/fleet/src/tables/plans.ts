import { change, record, records, type Steps, type Transactions } from 'mcp-pruner/store/sql/steps.ts';
import type { FleetEvent, PlanRecord, PlanStore } from '../ports.ts';
import { recordEvents } from './record.ts';

const OPEN = "state IN ('running', 'paused')";

/** `PlanStore` on the tables of either database: runs of plans as JSON. */
export class StoredPlans implements PlanStore {
  readonly #access: Transactions;

  constructor(access: Transactions) {
    this.#access = access;
  }

  begin(begun: Omit<PlanRecord, 'startedMs' | 'updatedMs'>, events: readonly FleetEvent[]): Promise<PlanRecord | null> {
    return this.#access.write(function* (nowMs) {
      const known = yield* find(begun.runId);
      if (known !== null && (known.state === 'running' || known.state === 'paused')) return null;
      const record = { ...begun, startedMs: nowMs, updatedMs: nowMs };
      const { runId, opId, state } = record;
      // replaces an earlier run with the same id, and becomes the newest
      yield* change('DELETE FROM main.fleet_plan WHERE run_id = ?', [runId]);
      yield* change('INSERT INTO main.fleet_plan (run_id, op_id, state, record) VALUES (?, ?, ?, ?)', [
        runId,
        opId,
        state,
        JSON.stringify(record),
      ]);
      yield* recordEvents(events, nowMs);
      return record;
    });
  }

  save(plan: PlanRecord, events: readonly FleetEvent[], atMost: number): Promise<void> {
    return this.#access.write(function* (nowMs) {
      const record = { ...plan, updatedMs: nowMs };
      yield* change('UPDATE main.fleet_plan SET state = ?, record = ? WHERE run_id = ?', [
        record.state,
        JSON.stringify(record),
        record.runId,
      ]);
      yield* trim(atMost);
      yield* recordEvents(events, nowMs);
    });
  }

  get(runId: string): Promise<PlanRecord | null> {
    return this.#access.read(() => find(runId));
  }

  open(opId?: string): Promise<readonly PlanRecord[]> {
    return this.#access.read(() =>
      opId === undefined
        ? records(`SELECT record FROM main.fleet_plan WHERE ${OPEN} ORDER BY seq`)
        : records(`SELECT record FROM main.fleet_plan WHERE ${OPEN} AND op_id = ?`, [opId]),
    );
  }

  byOperation(opId: string): Promise<PlanRecord | null> {
    return this.#access.read(() =>
      record('SELECT record FROM main.fleet_plan WHERE op_id = ? ORDER BY seq DESC LIMIT 1', [opId]),
    );
  }
}

function find(runId: string): Steps<PlanRecord | null> {
  return record('SELECT record FROM main.fleet_plan WHERE run_id = ?', [runId]);
}

/** Deletes the oldest ended runs beyond a limit. */
function* trim(atMost: number): Steps<void> {
  yield* change(
    `DELETE FROM main.fleet_plan WHERE NOT ${OPEN} AND seq <=
       (SELECT seq FROM main.fleet_plan WHERE NOT ${OPEN} ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
    [atMost],
  );
}
