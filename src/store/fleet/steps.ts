import type { FleetEvent } from '../../core/ports/fleet.ts';
import type { ChildLogRecord } from '../../core/ports/records.ts';
import type { EventRecord } from '../../core/ports.ts';

/** One step of a fleet transaction, executed and answered by its runner. The SQL follows the rules of `Rows`. */
export type Step =
  | { readonly kind: 'rows'; readonly sql: string; readonly values: readonly unknown[] }
  /** The answer is the number of changed rows. */
  | { readonly kind: 'change'; readonly sql: string; readonly values: readonly unknown[] }
  | { readonly kind: 'events'; readonly events: readonly EventRecord[] }
  | { readonly kind: 'logs'; readonly lines: readonly ChildLogRecord[] };

/** Work inside a transaction, yielded step by step: SQLite runs each step at once, PostgreSQL awaits each answer. */
export type Steps<T> = Generator<Step, T, unknown>;

/** The first row, or `null`. */
export function* one<Row>(sql: string, values: readonly unknown[] = []): Steps<Row | null> {
  return ((yield { kind: 'rows', sql, values }) as Row[])[0] ?? null;
}

export function* all<Row>(sql: string, values: readonly unknown[] = []): Steps<Row[]> {
  return (yield { kind: 'rows', sql, values }) as Row[];
}

/** The parsed JSON of the first row's `record` column, or `null`. */
export function* record<Value>(sql: string, values: readonly unknown[] = []): Steps<Value | null> {
  return (yield* records<Value>(sql, values))[0] ?? null;
}

/** As `record`, for every row. */
export function* records<Value>(sql: string, values: readonly unknown[] = []): Steps<Value[]> {
  const rows = yield* all<{ readonly record: string }>(sql, values);
  return rows.map((row) => JSON.parse(row.record) as Value);
}

/** @returns the number of changed rows */
export function* change(sql: string, values: readonly unknown[] = []): Steps<number> {
  return (yield { kind: 'change', sql, values }) as number;
}

/** The number in the first row's `value` column; 0 without a row. */
export function* number(sql: string, values: readonly unknown[] = []): Steps<number> {
  return (yield* one<{ readonly value: number }>(sql, values))?.value ?? 0;
}

/** Writes events within the current transaction. */
export function* tell(events: readonly FleetEvent[], nowMs: number): Steps<void> {
  if (events.length > 0) yield { kind: 'events', events: events.map((event) => ({ ...event, tsMs: nowMs })) };
}

/** Reads and writes of the fleet. Each is one transaction, and they run one after the other. */
export interface FleetAccess {
  read<T>(work: (nowMs: number) => Steps<T>): Promise<T>;
  /** Commits all of the work with its events, or nothing. */
  write<T>(work: (nowMs: number) => Steps<T>): Promise<T>;
}
