import { Changes } from '../changes.ts';
import { FleetError } from '../errors.ts';
import { type ChildChange, type ChildLogLine, type ChildRecord, eventOf } from '../ports.ts';
import type { ChildStore } from '../tables/children.ts';

/** The records of all children. A change wakes everyone who waits for it. */
export class ChildRecords {
  readonly changes = new Changes();
  readonly #store: ChildStore;

  constructor(store: ChildStore) {
    this.#store = store;
  }

  /** @throws FleetError `E-CHILD-NOT-FOUND` */
  async get(childId: string): Promise<ChildRecord> {
    return found(childId, await this.#store.get(childId));
  }

  /**
   * Changes a record by a pure function, which may be called more than once.
   *
   * @param change - receives the record and the number of active children (starting, running or stopping); `null`
   * changes nothing
   * @returns the record after the change
   * @throws FleetError `E-CHILD-NOT-FOUND`
   */
  async update(
    childId: string,
    change: (record: ChildRecord, nowMs: number, active: number) => ChildChange | null,
  ): Promise<ChildRecord> {
    const record = await this.#store.update(childId, (before, active, nowMs) => change(before, nowMs, active));
    this.changes.notify();
    return found(childId, record);
  }
}

function found(childId: string, record: ChildRecord | null): ChildRecord {
  if (record === null) throw new FleetError('E-CHILD-NOT-FOUND', { child_id: childId });
  return record;
}

export function meta(message: string): ChildLogLine {
  return { stream: 'meta', message, parsed: null };
}

export function childEvent(
  kind: string,
  { childId, correlation }: ChildRecord,
  payload: Readonly<Record<string, unknown>>,
  level: 'info' | 'warn' = 'info',
) {
  return eventOf(kind, { ...correlation, childId }, payload, level);
}

/** Notes that a limit was reached. @param used - the measured value, if the record's usage does not contain it */
export function limitReported(record: ChildRecord, key: string, used?: number): ChildChange {
  const { usage, limits } = record;
  const ofUsage = { messages: usage.messages, cost_usd: usage.costUsd ?? 0 };
  const counted = used ?? ofUsage[key as keyof typeof ofUsage] ?? usage.tokensIn + usage.tokensOut;
  const next = { ...record, limitsTold: [...record.limitsTold, key] };
  const payload = { limit: key, allowed: limits[key], used: counted };
  return {
    record: next,
    events: [childEvent('child_limit_exceeded', next, payload, 'warn')],
    logs: [meta(`limit reached: ${key}`)],
  };
}

export function stateError({ childId, state }: ChildRecord): FleetError {
  return new FleetError('E-CHILD-STATE', { child_id: childId, state });
}
