import { all, change, number, one, type Steps } from 'mcp-pruner/store/sql/steps.ts';
import type { ChildRecord, ChildSpec, ChildState, LogPositions } from '../ports.ts';

/** States of children that no longer run, as a SQL list. */
export const ENDED = "'terminated', 'error', 'killed', 'lost'";

/** Children as JSON with look-up columns, and their servers. */
export class ChildTable {
  *get(childId: string): Steps<ChildRecord | null> {
    return recordIn(yield* one('SELECT record FROM main.fleet_child WHERE child_id = ?', [childId]));
  }

  *spec(childId: string): Steps<ChildSpec | null> {
    const row = yield* one<{ spec: string }>('SELECT spec FROM main.fleet_child WHERE child_id = ?', [childId]);
    return row && (JSON.parse(row.spec) as ChildSpec);
  }

  *byToken(tokenHash: string): Steps<ChildRecord | null> {
    return recordIn(yield* one('SELECT record FROM main.fleet_child WHERE token_hash = ?', [tokenHash]));
  }

  *list(state: ChildState | null, runId: string | null, open: boolean, limit: number): Steps<ChildRecord[]> {
    const conditions = ['TRUE'];
    const values: unknown[] = [];
    if (state !== null) {
      conditions.push('state = ?');
      values.push(state);
    }
    if (runId !== null) {
      conditions.push('run_id = ?');
      values.push(runId);
    }
    if (open) conditions.push("state IN ('starting', 'running', 'stopping')");
    const sql = `SELECT record FROM main.fleet_child WHERE ${conditions.join(' AND ')} ORDER BY seq DESC LIMIT ?`;
    return (yield* all<{ record: string }>(sql, [...values, limit])).flatMap((row) => recordIn(row) ?? []);
  }

  *active(): Steps<number> {
    return yield* number(
      "SELECT count(*) AS value FROM main.fleet_child WHERE state IN ('starting', 'running', 'stopping')",
    );
  }

  *insert(record: ChildRecord, spec: ChildSpec): Steps<void> {
    const { childId, state, correlation, tokenHash, endedMs } = record;
    yield* change(
      `INSERT INTO main.fleet_child (child_id, state, run_id, token_hash, ended_ms, record, spec)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      [childId, state, correlation.runId, tokenHash, endedMs, JSON.stringify(record), JSON.stringify(spec)],
    );
  }

  /** Deletes the oldest ended children, so that at most `atMost` records remain. */
  *trim(atMost: number): Steps<void> {
    const over = (yield* number('SELECT count(*) AS value FROM main.fleet_child')) - atMost;
    if (over <= 0) return;
    yield* change(
      `DELETE FROM main.fleet_child WHERE seq IN
         (SELECT seq FROM main.fleet_child WHERE state IN (${ENDED}) ORDER BY ended_ms, seq LIMIT ?)`,
      [over],
    );
  }

  *save(record: ChildRecord): Steps<void> {
    const { childId, state, correlation, tokenHash, endedMs } = record;
    yield* change(
      `UPDATE main.fleet_child SET state = ?, run_id = ?, token_hash = ?, ended_ms = ?, record = ? WHERE child_id = ?`,
      [state, correlation.runId, tokenHash, endedMs, JSON.stringify(record), childId],
    );
  }

  *saveSpec(childId: string, spec: ChildSpec): Steps<void> {
    yield* change('UPDATE main.fleet_child SET spec = ? WHERE child_id = ?', [JSON.stringify(spec), childId]);
  }

  *setPositions(childId: string, { stdout, stderr }: LogPositions): Steps<void> {
    yield* change('UPDATE main.fleet_child SET stdout_at = ?, stderr_at = ? WHERE child_id = ?', [
      stdout,
      stderr,
      childId,
    ]);
  }

  *positions(childId: string): Steps<LogPositions> {
    return (
      (yield* one<LogPositions>(
        'SELECT stdout_at AS stdout, stderr_at AS stderr FROM main.fleet_child WHERE child_id = ?',
        [childId],
      )) ?? { stdout: 0, stderr: 0 }
    );
  }

  *remove(childId: string): Steps<boolean> {
    return (yield* change('DELETE FROM main.fleet_child WHERE child_id = ?', [childId])) > 0;
  }

  *endedBefore(ms: number): Steps<string[]> {
    return (yield* all<{ child_id: string }>(
      `SELECT child_id FROM main.fleet_child WHERE state IN (${ENDED}) AND ended_ms < ?`,
      [ms],
    )).map(({ child_id }) => child_id);
  }

  *heartbeat(instanceId: string, pid: number, url: string, nowMs: number): Steps<void> {
    yield* change(
      `INSERT INTO main.fleet_instance VALUES (?, ?, ?, ?)
       ON CONFLICT (instance_id) DO UPDATE SET url = excluded.url, heard_ms = excluded.heard_ms`,
      [instanceId, pid, url, nowMs],
    );
    yield* change('DELETE FROM main.fleet_instance WHERE heard_ms < ?', [nowMs - 24 * 60 * 60 * 1000]);
  }

  *aliveSince(ms: number): Steps<Map<string, number>> {
    const rows = yield* all<{ id: string; pid: number }>(
      'SELECT instance_id AS id, pid FROM main.fleet_instance WHERE heard_ms >= ?',
      [ms],
    );
    return new Map(rows.map(({ id, pid }) => [id, pid]));
  }

  *farewell(instanceId: string): Steps<void> {
    yield* change('DELETE FROM main.fleet_instance WHERE instance_id = ?', [instanceId]);
  }
}

function recordIn(row: { readonly record: string } | null): ChildRecord | null {
  return row && (JSON.parse(row.record) as ChildRecord);
}
