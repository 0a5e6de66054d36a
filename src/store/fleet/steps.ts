import type { FleetEvent } from '../../core/ports/fleet.ts';
import type { ChildLogRecord } from '../../core/ports/records.ts';
import type { EventRecord } from '../../core/ports.ts';

/**
 * One step of a transaction of the fleet, which whoever runs it does and answers. SQL is as of `Rows`.
 */
export type Step =
  | { readonly kind: 'rows'; readonly sql: string; readonly values: readonly unknown[] }
  /** Answered with the number of rows that changed. */
  | { readonly kind: 'change'; readonly sql: string; readonly values: readonly unknown[] }
  | { readonly kind: 'events'; readonly events: readonly EventRecord[] }
  | { readonly kind: 'logs'; readonly lines: readonly ChildLogRecord[] };

/** Work inside a transaction, told step by step: SQLite does it at once, PostgreSQL waits for each answer. */
export type Steps<T> = Generator<Step, T, unknown>;

/** The first row, or `null`. */
export function* one<Row>(sql: string, values: readonly unknown[] = []): Steps<Row | null> {
  return ((yield { kind: 'rows', sql, values }) as Row[])[0] ?? null;
}

export function* all<Row>(sql: string, values: readonly unknown[] = []): Steps<Row[]> {
  return (yield { kind: 'rows', sql, values }) as Row[];
}

/** What the first row has as JSON in its column `record`, or `null`. */
export function* record<Value>(sql: string, values: readonly unknown[] = []): Steps<Value | null> {
  return (yield* records<Value>(sql, values))[0] ?? null;
}

/** As `record`, of every row. */
export function* records<Value>(sql: string, values: readonly unknown[] = []): Steps<Value[]> {
  const rows = yield* all<{ readonly record: string }>(sql, values);
  return rows.map((row) => JSON.parse(row.record) as Value);
}

/** @returns how many rows it changed */
export function* change(sql: string, values: readonly unknown[] = []): Steps<number> {
  return (yield { kind: 'change', sql, values }) as number;
}

/** The number in the first column, as `value`; 0 where there is no row. */
export function* number(sql: string, values: readonly unknown[] = []): Steps<number> {
  return (yield* one<{ readonly value: number }>(sql, values))?.value ?? 0;
}

/** Writes events of the transaction under way. */
export function* tell(events: readonly FleetEvent[], nowMs: number): Steps<void> {
  if (events.length > 0) yield { kind: 'events', events: events.map((event) => ({ ...event, tsMs: nowMs })) };
}

/** Reads and writes of the fleet, each one transaction, one after the other. */
export interface FleetAccess {
  read<T>(work: (nowMs: number) => Steps<T>): Promise<T>;
  /** All of the work and its events, or nothing. */
  write<T>(work: (nowMs: number) => Steps<T>): Promise<T>;
}
