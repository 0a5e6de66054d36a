import type { PlanRecord } from '../../core/ports/fleet.ts';
import { all, change, one, type Steps } from './steps.ts';

const OPEN = "state IN ('running', 'paused')";

/** Runs of plans as JSON. */
export class PlanTable {
  *get(runId: string): Steps<PlanRecord | null> {
    return recordIn(yield* one('SELECT record FROM fleet_plan WHERE run_id = ?', runId));
  }

  *byOperation(opId: string): Steps<PlanRecord | null> {
    return recordIn(yield* one('SELECT record FROM fleet_plan WHERE op_id = ? ORDER BY seq DESC LIMIT 1', opId));
  }

  *open(opId: string | null): Steps<PlanRecord[]> {
    const rows =
      opId === null
        ? yield* all<{ record: string }>(`SELECT record FROM fleet_plan WHERE ${OPEN} ORDER BY seq`)
        : yield* all<{ record: string }>(`SELECT record FROM fleet_plan WHERE ${OPEN} AND op_id = ?`, opId);
    return rows.flatMap((row) => recordIn(row) ?? []);
  }

  /** Writes a run in the place of an earlier one of its id, as the newest. */
  *put(record: PlanRecord): Steps<void> {
    yield* change('DELETE FROM fleet_plan WHERE run_id = ?', record.runId);
    yield* change(
      'INSERT INTO fleet_plan (run_id, op_id, state, record) VALUES (?, ?, ?, ?)',
      record.runId,
      record.opId,
      record.state,
      JSON.stringify(record),
    );
  }

  *save(record: PlanRecord): Steps<void> {
    yield* change(
      'UPDATE fleet_plan SET state = ?, record = ? WHERE run_id = ?',
      record.state,
      JSON.stringify(record),
      record.runId,
    );
  }

  /** Lets the oldest ended runs beyond a number go. */
  *trim(atMost: number): Steps<void> {
    yield* change(
      `DELETE FROM fleet_plan WHERE NOT ${OPEN} AND seq <=
         (SELECT seq FROM fleet_plan WHERE NOT ${OPEN} ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
      atMost,
    );
  }
}

function recordIn(row: { readonly record: string } | null): PlanRecord | null {
  return row && (JSON.parse(row.record) as PlanRecord);
}
