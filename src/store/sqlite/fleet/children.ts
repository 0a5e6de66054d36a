import type {
  ChildChange,
  ChildLogLine,
  ChildRecord,
  ChildSpec,
  ChildStore,
  FleetEvent,
  LogPositions,
} from '../../../core/ports/fleet.ts';
import type { Tables } from '../tables.ts';
import type { FleetAccess } from './fleet-tables.ts';

/** `ChildStore` on SQLite. */
export class FileChildren implements ChildStore {
  readonly #access: FleetAccess;

  constructor(access: FleetAccess) {
    this.#access = access;
  }

  insert(
    { record, spec, events = [], logs = [] }: ChildChange & { readonly spec: ChildSpec },
    atMost: number,
  ): Promise<boolean> {
    return this.#access.write(({ children }, nowMs, tell, all) => {
      if (children.get(record.childId) !== null) return false;
      children.insert(record, spec);
      children.trim(atMost);
      this.#log(all, record, logs, nowMs);
      tell(events);
      return true;
    });
  }

  get(childId: string): Promise<ChildRecord | null> {
    return this.#access.read(({ children }) => children.get(childId));
  }

  spec(childId: string): Promise<ChildSpec | null> {
    return this.#access.read(({ children }) => children.spec(childId));
  }

  byToken(tokenHash: string): Promise<ChildRecord | null> {
    return this.#access.read(({ children }) => children.byToken(tokenHash));
  }

  list({ state, runId, open = false, limit }: Parameters<ChildStore['list']>[0]): Promise<readonly ChildRecord[]> {
    return this.#access.read(({ children }) => children.list(state ?? null, runId ?? null, open, limit));
  }

  update(
    childId: string,
    change: (record: ChildRecord, active: number, nowMs: number) => ChildChange | null,
  ): Promise<ChildRecord | null> {
    return this.#access.write(({ children }, nowMs, tell, all) => {
      const before = children.get(childId);
      if (before === null) return null;
      const changed = change(before, children.active(), nowMs);
      if (changed === null) return before;
      const { record, events = [], logs = [], spec } = changed;
      children.save(record);
      if (spec) children.saveSpec(childId, spec);
      if (record.starts !== before.starts) children.setPositions(childId, { stdout: 0, stderr: 0 });
      this.#log(all, record, logs, nowMs);
      tell(events);
      return record;
    });
  }

  async addOutput(childId: string, lines: readonly ChildLogLine[], positions: LogPositions): Promise<void> {
    await this.#access.write(({ children }, nowMs, _tell, all) => {
      const record = children.get(childId);
      if (record === null) return;
      children.setPositions(childId, positions);
      this.#log(all, record, lines, nowMs);
    });
  }

  positions(childId: string): Promise<LogPositions> {
    return this.#access.read(({ children }) => children.positions(childId));
  }

  remove(childId: string, events: readonly FleetEvent[]): Promise<boolean> {
    return this.#access.write(({ children }, _nowMs, tell) => {
      const removed = children.remove(childId);
      if (removed) tell(events);
      return removed;
    });
  }

  endedBefore(ms: number): Promise<readonly string[]> {
    return this.#access.read(({ children }) => children.endedBefore(ms));
  }

  async heartbeat({ instanceId, pid, url }: Parameters<ChildStore['heartbeat']>[0]): Promise<void> {
    await this.#access.write(({ children }, nowMs) => children.heartbeat(instanceId, pid, url, nowMs));
  }

  aliveSince(ms: number): Promise<ReadonlyMap<string, number>> {
    return this.#access.read(({ children }) => children.aliveSince(ms));
  }

  async farewell(instanceId: string): Promise<void> {
    await this.#access.write(({ children }) => children.farewell(instanceId));
  }

  #log({ childLogs }: Tables, record: ChildRecord, lines: readonly ChildLogLine[], nowMs: number): void {
    if (lines.length === 0) return;
    const { childId, correlation } = record;
    const { runId, opId, jobId, graphId, nodeId } = correlation;
    childLogs.add(lines.map((line) => ({ ...line, tsMs: nowMs, childId, runId, opId, jobId, graphId, nodeId })));
    childLogs.trim(this.#access.maxEvents, lines.length * 2);
  }
}
