import { addLines } from 'mcp-pruner/store/logs.ts';
import type { Steps, Transactions } from 'mcp-pruner/store/sql/steps.ts';
import type {
  ChildChange,
  ChildLogLine,
  ChildRecord,
  ChildSpec,
  ChildStore,
  FleetEvent,
  LogPositions,
} from '../ports.ts';
import { ChildTable } from './child-table.ts';
import { recordEvents } from './record.ts';

const children = new ChildTable();

/** `ChildStore` on the tables of either database. */
export class StoredChildren implements ChildStore {
  readonly #access: Transactions;

  constructor(access: Transactions) {
    this.#access = access;
  }

  insert(
    { record, spec, events = [], logs = [] }: ChildChange & { readonly spec: ChildSpec },
    atMost: number,
  ): Promise<boolean> {
    return this.#access.write(function* (nowMs) {
      if ((yield* children.get(record.childId)) !== null) return false;
      yield* children.insert(record, spec);
      yield* children.trim(atMost);
      yield* log(record, logs, nowMs);
      yield* recordEvents(events, nowMs);
      return true;
    });
  }

  get(childId: string): Promise<ChildRecord | null> {
    return this.#access.read(() => children.get(childId));
  }

  spec(childId: string): Promise<ChildSpec | null> {
    return this.#access.read(() => children.spec(childId));
  }

  byToken(tokenHash: string): Promise<ChildRecord | null> {
    return this.#access.read(() => children.byToken(tokenHash));
  }

  list({ state, runId, open = false, limit }: Parameters<ChildStore['list']>[0]): Promise<readonly ChildRecord[]> {
    return this.#access.read(() => children.list(state ?? null, runId ?? null, open, limit));
  }

  update(
    childId: string,
    change: (record: ChildRecord, active: number, nowMs: number) => ChildChange | null,
  ): Promise<ChildRecord | null> {
    return this.#access.write(function* (nowMs) {
      const before = yield* children.get(childId);
      if (before === null) return null;
      const changed = change(before, yield* children.active(), nowMs);
      if (changed === null) return before;
      const { record, events = [], logs = [], spec } = changed;
      yield* children.save(record);
      if (spec) yield* children.saveSpec(childId, spec);
      if (record.starts !== before.starts) yield* children.setPositions(childId, { stdout: 0, stderr: 0 });
      yield* log(record, logs, nowMs);
      yield* recordEvents(events, nowMs);
      return record;
    });
  }

  async addOutput(childId: string, lines: readonly ChildLogLine[], positions: LogPositions): Promise<void> {
    await this.#access.write(function* (nowMs) {
      const record = yield* children.get(childId);
      if (record === null) return;
      yield* children.setPositions(childId, positions);
      yield* log(record, lines, nowMs);
    });
  }

  positions(childId: string): Promise<LogPositions> {
    return this.#access.read(() => children.positions(childId));
  }

  remove(childId: string, events: readonly FleetEvent[]): Promise<boolean> {
    return this.#access.write(function* (nowMs) {
      const removed = yield* children.remove(childId);
      if (removed) yield* recordEvents(events, nowMs);
      return removed;
    });
  }

  endedBefore(ms: number): Promise<readonly string[]> {
    return this.#access.read(() => children.endedBefore(ms));
  }

  heartbeat({ instanceId, pid, url }: Parameters<ChildStore['heartbeat']>[0]): Promise<void> {
    return this.#access.write((nowMs) => children.heartbeat(instanceId, pid, url, nowMs));
  }

  aliveSince(ms: number): Promise<ReadonlyMap<string, number>> {
    return this.#access.read(() => children.aliveSince(ms));
  }

  farewell(instanceId: string): Promise<void> {
    return this.#access.write(() => children.farewell(instanceId));
  }
}

function* log({ childId, correlation }: ChildRecord, lines: readonly ChildLogLine[], nowMs: number): Steps<void> {
  const { runId, opId, jobId, graphId, nodeId } = correlation;
  const about = { tsMs: nowMs, childId, runId, opId, jobId, graphId, nodeId };
  yield* addLines(lines.map((line) => ({ ...line, ...about })));
}
