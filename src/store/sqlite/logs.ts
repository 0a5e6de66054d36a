import type { EventRecord } from '../../core/ports.ts';
import {
  eventRows,
  FOLDED_KIND,
  type FoldedRow,
  foldedInto,
  foldedTogether,
  type LogRows,
  minuteOf,
} from '../log-rows.ts';
import type { Statements } from './statements.ts';

/** Adds events, and deletes the oldest beyond `keep`, except audit events; inside the caller's transaction. */
export function addEvents(sql: Statements, events: readonly EventRecord[], keep: number): void {
  const added = foldedTogether(events).filter((event) => event.kind !== FOLDED_KIND || !fold(sql, event));
  addToLog(sql, eventRows(added), keep);
}

function fold(sql: Statements, event: EventRecord): boolean {
  const rows = sql.all<FoldedRow>(
    'SELECT seq, payload FROM event WHERE audit = 1 AND ts_ms >= ? AND ts_ms < ? AND kind = ?',
    [...minuteOf(event.tsMs), FOLDED_KIND],
  );
  const into = foldedInto(event, rows);
  if (into) sql.run('UPDATE event SET payload = ? WHERE seq = ?', [into.payload, into.seq]);
  return into !== null;
}

/**
 * Adds to a log, with numbers that are never reused, and deletes the oldest beyond `keep`; inside the caller's
 * transaction.
 */
export function addToLog(sql: Statements, { log, columns, rows }: LogRows, keep: number): void {
  const insert = `INSERT INTO ${log} (${columns}) VALUES (${columns.map(() => '?')})`;
  for (const row of rows) sql.run(insert, row);
  trimLog(sql, log, keep, rows.length * 2);
}

/** Deletes the oldest entries beyond the newest `keep`, at most `limit`, except audit events; returns their number. */
export function trimLog(sql: Statements, log: LogRows['log'], keep: number, limit: number): number {
  const newest = sql.value(`SELECT seq FROM ${log} ORDER BY seq DESC LIMIT 1`);
  if (newest === undefined) return 0;
  const plain = log === 'event' ? 'audit = 0 AND' : '';
  const audits =
    log === 'event' ? (sql.value('SELECT count(*) FROM event WHERE audit = 1 AND seq > ?', [newest - keep]) ?? 0) : 0;
  const old = `SELECT seq FROM ${log} WHERE ${plain} seq <= ? ORDER BY seq LIMIT ?`;
  return sql.run(`DELETE FROM ${log} WHERE seq IN (${old})`, [newest - keep - audits, limit]);
}

/** Deletes audit events older than a time, at most `limit`; returns their number. */
export function trimAudit(sql: Statements, beforeMs: number, limit: number): number {
  const old = 'SELECT seq FROM event WHERE audit = 1 AND ts_ms < ? ORDER BY ts_ms LIMIT ?';
  return sql.run(`DELETE FROM event WHERE seq IN (${old})`, [Math.trunc(beforeMs), limit]);
}
