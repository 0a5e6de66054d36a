import type { Database } from 'better-sqlite3';
import type { PlanRecord } from '../../../core/ports/fleet.ts';
import { Statements } from './statements.ts';

const OPEN = "state IN ('running', 'paused')";

/** Runs of plans as JSON. */
export class PlanTable {
  readonly #sql: Statements;

  constructor(db: Database) {
    this.#sql = new Statements(db);
  }

  get(runId: string): PlanRecord | null {
    return recordIn(this.#sql.one('SELECT record FROM fleet_plan WHERE run_id = ?', runId));
  }

  byOperation(opId: string): PlanRecord | null {
    return recordIn(this.#sql.one('SELECT record FROM fleet_plan WHERE op_id = ? ORDER BY seq DESC LIMIT 1', opId));
  }

  open(opId: string | null): PlanRecord[] {
    const rows =
      opId === null
        ? this.#sql.all<{ record: string }>(`SELECT record FROM fleet_plan WHERE ${OPEN} ORDER BY seq`)
        : this.#sql.all<{ record: string }>(`SELECT record FROM fleet_plan WHERE ${OPEN} AND op_id = ?`, opId);
    return rows.flatMap((row) => recordIn(row) ?? []);
  }

  /** Writes a run in the place of an earlier one of its id, as the newest. */
  put(record: PlanRecord): void {
    this.#sql.run('DELETE FROM fleet_plan WHERE run_id = ?', record.runId);
    this.#sql.run(
      'INSERT INTO fleet_plan (run_id, op_id, state, record) VALUES (?, ?, ?, ?)',
      record.runId,
      record.opId,
      record.state,
      JSON.stringify(record),
    );
  }

  save(record: PlanRecord): void {
    this.#sql.run(
      'UPDATE fleet_plan SET state = ?, record = ? WHERE run_id = ?',
      record.state,
      JSON.stringify(record),
      record.runId,
    );
  }

  /** Lets the oldest ended runs beyond a number go. */
  trim(atMost: number): void {
    this.#sql.run(
      `DELETE FROM fleet_plan WHERE seq IN
         (SELECT seq FROM fleet_plan WHERE NOT ${OPEN} ORDER BY seq DESC LIMIT -1 OFFSET ?)`,
      atMost,
    );
  }
}

function recordIn(row: { readonly record: string } | null): PlanRecord | null {
  return row && (JSON.parse(row.record) as PlanRecord);
}
