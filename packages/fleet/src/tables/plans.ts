import { change, record, records, type Steps, type Transactions } from 'mcp-pruner/store/sql/steps.ts';
import type { FleetEvent, PlanRecord } from '../ports.ts';
import { recordEvents } from './record.ts';

const OPEN = "state IN ('running', 'paused')";

export class PlanStore {
  readonly #access: Transactions;

  constructor(access: Transactions) {
    this.#access = access;
  }

  /** Writes a new run, replacing an ended run with the same id; `null` if that run is still in progress. */
  begin(begun: Omit<PlanRecord, 'startedMs' | 'updatedMs'>, events: readonly FleetEvent[]): Promise<PlanRecord | null> {
    return this.#access.write(function* (nowMs) {
      const known = yield* find(begun.runId);
      if (known !== null && (known.state === 'running' || known.state === 'paused')) return null;
      const record = { ...begun, startedMs: nowMs, updatedMs: nowMs };
      // deleted first, so that it becomes the newest
      yield* change('DELETE FROM main.fleet_plan WHERE run_id = ?', [begun.runId]);
      const values = [begun.runId, begun.opId, begun.state, JSON.stringify(record)];
      yield* change('INSERT INTO main.fleet_plan (run_id, op_id, state, record) VALUES (?, ?, ?, ?)', values);
      yield* recordEvents(events, nowMs);
      return record;
    });
  }

  /** Updates a run, and deletes the oldest ended runs beyond `atMost`. */
  save(plan: PlanRecord, events: readonly FleetEvent[], atMost: number): Promise<void> {
    return this.#access.write(function* (nowMs) {
      const record = JSON.stringify({ ...plan, updatedMs: nowMs });
      const sql = 'UPDATE main.fleet_plan SET state = ?, record = ? WHERE run_id = ?';
      yield* change(sql, [plan.state, record, plan.runId]);
      yield* change(
        `DELETE FROM main.fleet_plan WHERE NOT ${OPEN} AND seq <=
           (SELECT seq FROM main.fleet_plan WHERE NOT ${OPEN} ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
        [atMost],
      );
      yield* recordEvents(events, nowMs);
    });
  }

  get(runId: string): Promise<PlanRecord | null> {
    return this.#access.read(() => find(runId));
  }

  /** Unfinished runs; with `opId`, only of that operation. */
  open(opId?: string): Promise<readonly PlanRecord[]> {
    return this.#access.read(() =>
      opId === undefined
        ? records(`SELECT record FROM main.fleet_plan WHERE ${OPEN} ORDER BY seq`)
        : records(`SELECT record FROM main.fleet_plan WHERE ${OPEN} AND op_id = ?`, [opId]),
    );
  }

  /** The newest run of an operation. */
  byOperation(opId: string): Promise<PlanRecord | null> {
    return this.#access.read(() =>
      record('SELECT record FROM main.fleet_plan WHERE op_id = ? ORDER BY seq DESC LIMIT 1', [opId]),
    );
  }
}

function find(runId: string): Steps<PlanRecord | null> {
  return record('SELECT record FROM main.fleet_plan WHERE run_id = ?', [runId]);
}
