import type { LogRows } from '../log-rows.ts';
import type { Statements } from './statements.ts';

/** Adds to a log, numbered without reuse, and deletes the oldest beyond `keep`; inside the caller's transaction. */
export function addToLog(sql: Statements, { log, columns, rows }: LogRows, keep: number): void {
  const insert = `INSERT INTO ${log} (${columns}) VALUES (${columns.map(() => '?')})`;
  for (const row of rows) sql.run(insert, row);
  trimLog(sql, log, keep, rows.length * 2);
}

/** Deletes the oldest entries of a log beyond the newest `keep`, at most `limit`; returns how many. */
export function trimLog(sql: Statements, log: LogRows['log'], keep: number, limit: number): number {
  const newest = sql.value(`SELECT seq FROM ${log} ORDER BY seq DESC LIMIT 1`);
  if (newest === undefined) return 0;
  const old = `SELECT seq FROM ${log} WHERE seq <= ? ORDER BY seq LIMIT ?`;
  return sql.run(`DELETE FROM ${log} WHERE seq IN (${old})`, [newest - keep, limit]);
}
