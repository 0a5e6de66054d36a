import type { ChildChange, ChildLogLine, ChildRecord, ChildStore } from '../../core/ports/fleet.ts';
import { PrunerError } from '../../errors.ts';
import { Changes } from '../changes.ts';
import { eventOf } from '../hints.ts';

/** The records of all children; whoever waits for a change of one is woken by it. */
export class ChildRecords {
  readonly changes = new Changes();
  readonly #store: ChildStore;

  constructor(store: ChildStore) {
    this.#store = store;
  }

  /** @throws PrunerError `E-CHILD-NOT-FOUND` */
  async get(childId: string): Promise<ChildRecord> {
    return found(childId, await this.#store.get(childId));
  }

  /**
   * Changes a record by a pure function, which may be called again.
   *
   * @param change - gets the record and how many children are starting or running; `null` leaves it
   * @returns the record as it is afterwards
   * @throws PrunerError `E-CHILD-NOT-FOUND`
   */
  async update(
    childId: string,
    change: (record: ChildRecord, nowMs: number, active: number) => ChildChange | null,
  ): Promise<ChildRecord> {
    const record = await this.#store.update(childId, (before, active, nowMs) => change(before, nowMs, active));
    this.changes.tell();
    return found(childId, record);
  }
}

function found(childId: string, record: ChildRecord | null): ChildRecord {
  if (record === null) throw new PrunerError('E-CHILD-NOT-FOUND', { child_id: childId });
  return record;
}

/** A line of a child's log that it did not write itself. */
export function meta(message: string): ChildLogLine {
  return { stream: 'meta', message, parsed: null };
}

/** An event of a child, for the run that it belongs to. */
export function childEvent(
  kind: string,
  { childId, correlation }: ChildRecord,
  payload: Readonly<Record<string, unknown>>,
  level: 'info' | 'warn' = 'info',
) {
  return eventOf(kind, { ...correlation, childId }, payload, level);
}

/** Notes that a limit was reached. @param used - what was counted, where the record's own usage does not say it */
export function limitTold(record: ChildRecord, key: string, used?: number): ChildChange {
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

export function stateError({ childId, state }: ChildRecord): PrunerError {
  return new PrunerError('E-CHILD-STATE', { child_id: childId, state });
}
