import { addLines } from 'mcp-pruner/store/logs.ts';
import {
  all,
  change,
  number,
  one,
  record,
  records,
  type Steps,
  type Transactions,
} from 'mcp-pruner/store/sql/steps.ts';
import type {
  ChildChange,
  ChildLogLine,
  ChildRecord,
  ChildSpec,
  ChildState,
  FleetEvent,
  LogPositions,
} from '../ports.ts';
import { recordEvents } from './record.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
/** SQL condition for children that no longer run. */
export const ENDED = "state IN ('terminated', 'error', 'killed', 'lost')";
const ACTIVE = "state IN ('starting', 'running', 'stopping')";
const BY_ID = 'SELECT record FROM main.fleet_child WHERE child_id = ?';

export class ChildStore {
  readonly #access: Transactions;

  constructor(access: Transactions) {
    this.#access = access;
  }

  /** Adds a child; `false` if the id exists. Deletes the oldest ended records beyond `atMost`. */
  insert(
    { record: child, spec, events = [], logs = [] }: ChildChange & { readonly spec: ChildSpec },
    atMost: number,
  ): Promise<boolean> {
    return this.#access.write(function* (nowMs) {
      const { childId, state, correlation, tokenHash, endedMs } = child;
      if ((yield* one(BY_ID, [childId])) !== null) return false;
      yield* change(
        `INSERT INTO main.fleet_child (child_id, state, run_id, token_hash, ended_ms, record, spec)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        [childId, state, correlation.runId, tokenHash, endedMs, JSON.stringify(child), JSON.stringify(spec)],
      );
      const over = (yield* number('SELECT count(*) AS value FROM main.fleet_child')) - atMost;
      if (over > 0) {
        yield* change(
          `DELETE FROM main.fleet_child WHERE seq IN
             (SELECT seq FROM main.fleet_child WHERE ${ENDED} ORDER BY ended_ms, seq LIMIT ?)`,
          [over],
        );
      }
      yield* log(child, logs, nowMs);
      yield* recordEvents(events, nowMs);
      return true;
    });
  }

  get(childId: string): Promise<ChildRecord | null> {
    return this.#access.read(() => record(BY_ID, [childId]));
  }

  spec(childId: string): Promise<ChildSpec | null> {
    return this.#access.read(() => record('SELECT spec AS record FROM main.fleet_child WHERE child_id = ?', [childId]));
  }

  byToken(tokenHash: string): Promise<ChildRecord | null> {
    return this.#access.read(() => record('SELECT record FROM main.fleet_child WHERE token_hash = ?', [tokenHash]));
  }

  /** Returns children, newest first. */
  list(query: {
    readonly state?: ChildState;
    readonly runId?: string;
    readonly open?: boolean;
    readonly limit: number;
  }): Promise<readonly ChildRecord[]> {
    const conditions = [query.open ? ACTIVE : 'TRUE'];
    const values: unknown[] = [];
    for (const [column, value] of [
      ['state', query.state],
      ['run_id', query.runId],
    ] as const) {
      if (value === undefined) continue;
      conditions.push(`${column} = ?`);
      values.push(value);
    }
    const sql = `SELECT record FROM main.fleet_child WHERE ${conditions.join(' AND ')} ORDER BY seq DESC LIMIT ?`;
    return this.#access.read(() => records(sql, [...values, query.limit]));
  }

  /**
   * Changes a record by a pure function, which may be called again.
   *
   * @param changed - gets the record and the number of active children (starting, running or stopping); `null` changes
   * nothing
   * @returns the updated record; `null` if there is none
   */
  update(
    childId: string,
    changed: (record: ChildRecord, active: number, nowMs: number) => ChildChange | null,
  ): Promise<ChildRecord | null> {
    return this.#access.write(function* (nowMs) {
      const before = yield* record<ChildRecord>(BY_ID, [childId]);
      if (before === null) return null;
      const active = yield* number(`SELECT count(*) AS value FROM main.fleet_child WHERE ${ACTIVE}`);
      const update = changed(before, active, nowMs);
      if (update === null) return before;
      const { record: child, events = [], logs = [], spec } = update;
      yield* change(
        'UPDATE main.fleet_child SET state = ?, run_id = ?, token_hash = ?, ended_ms = ?, record = ? WHERE child_id = ?',
        [child.state, child.correlation.runId, child.tokenHash, child.endedMs, JSON.stringify(child), childId],
      );
      if (spec)
        yield* change('UPDATE main.fleet_child SET spec = ? WHERE child_id = ?', [JSON.stringify(spec), childId]);
      if (child.starts !== before.starts) yield* setPositions(childId, { stdout: 0, stderr: 0 });
      yield* log(child, logs, nowMs);
      yield* recordEvents(events, nowMs);
      return child;
    });
  }

  async addOutput(childId: string, lines: readonly ChildLogLine[], positions: LogPositions): Promise<void> {
    await this.#access.write(function* (nowMs) {
      const child = yield* record<ChildRecord>(BY_ID, [childId]);
      if (child === null) return;
      yield* setPositions(childId, positions);
      yield* log(child, lines, nowMs);
    });
  }

  async positions(childId: string): Promise<LogPositions> {
    const sql = 'SELECT stdout_at AS stdout, stderr_at AS stderr FROM main.fleet_child WHERE child_id = ?';
    return (await this.#access.read(() => one<LogPositions>(sql, [childId]))) ?? { stdout: 0, stderr: 0 };
  }

  /** Removes the record, but not its log. */
  remove(childId: string, events: readonly FleetEvent[]): Promise<boolean> {
    return this.#access.write(function* (nowMs) {
      const removed = yield* change('DELETE FROM main.fleet_child WHERE child_id = ?', [childId]);
      if (removed > 0) yield* recordEvents(events, nowMs);
      return removed > 0;
    });
  }

  async endedBefore(ms: number): Promise<readonly string[]> {
    const sql = `SELECT child_id AS id FROM main.fleet_child WHERE ${ENDED} AND ended_ms < ?`;
    return (await this.#access.read(() => all<{ id: string }>(sql, [ms]))).map(({ id }) => id);
  }

  heartbeat(server: { readonly instanceId: string; readonly pid: number; readonly url: string }): Promise<void> {
    return this.#access.write(function* (nowMs) {
      yield* change(
        `INSERT INTO main.fleet_instance VALUES (?, ?, ?, ?)
         ON CONFLICT (instance_id) DO UPDATE SET url = excluded.url, heard_ms = excluded.heard_ms`,
        [server.instanceId, server.pid, server.url, nowMs],
      );
      yield* change('DELETE FROM main.fleet_instance WHERE heard_ms < ?', [nowMs - DAY_MS]);
    });
  }

  /** Pids of servers with a heartbeat since that time, by server id. */
  async aliveSince(ms: number): Promise<ReadonlyMap<string, number>> {
    const sql = 'SELECT instance_id AS id, pid FROM main.fleet_instance WHERE heard_ms >= ?';
    const rows = await this.#access.read(() => all<{ id: string; pid: number }>(sql, [ms]));
    return new Map(rows.map(({ id, pid }) => [id, pid]));
  }

  async farewell(instanceId: string): Promise<void> {
    await this.#access.write(() => change('DELETE FROM main.fleet_instance WHERE instance_id = ?', [instanceId]));
  }
}

function* setPositions(childId: string, { stdout, stderr }: LogPositions): Steps<void> {
  const sql = 'UPDATE main.fleet_child SET stdout_at = ?, stderr_at = ? WHERE child_id = ?';
  yield* change(sql, [stdout, stderr, childId]);
}

function* log({ childId, correlation }: ChildRecord, lines: readonly ChildLogLine[], nowMs: number): Steps<void> {
  const { runId, opId, jobId, graphId, nodeId } = correlation;
  const about = { tsMs: nowMs, childId, runId, opId, jobId, graphId, nodeId };
  yield* addLines(lines.map((line) => ({ ...line, ...about })));
}
