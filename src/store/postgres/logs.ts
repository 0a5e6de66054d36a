import type { LogRows } from '../log-rows.ts';
import type { Queryable } from './database.ts';
import { columnsOf } from './rows.ts';

/**
 * Adds to a log and deletes the oldest beyond `keep`; inside the caller's transaction. The row of the log's last number stays
 * locked until the commit, so numbers become visible in their order and none is left out.
 */
export async function addToLog(client: Queryable, { log, columns, rows }: LogRows, keep: number): Promise<void> {
  const [base] = await client.query<{ seq: number }>('SELECT mcp_pruner.next_seq($1, $2) AS seq', [log, rows.length]);
  const seq = base?.seq ?? 0;
  const lists = columns.map((_, i) => `$${i + 2}::${i === 0 ? 'bigint' : 'text'}[]`);
  await client.query(
    `INSERT INTO mcp_pruner.${log} (seq, ${columns})
     SELECT $1 + n, ${columns} FROM unnest(${lists}) WITH ORDINALITY u (${columns}, n)`,
    [seq, ...columnsOf(rows, columns.length)],
  );
  await trimLog(client, log, seq + rows.length - keep, rows.length * 2);
}

/** Deletes the oldest entries of a log up to a number, at most `limit`; returns how many. */
export async function trimLog(client: Queryable, log: LogRows['log'], upTo: number, limit: number): Promise<number> {
  const rows = await client.query(
    `DELETE FROM mcp_pruner.${log} WHERE seq IN (
       SELECT seq FROM mcp_pruner.${log} WHERE seq <= $1 ORDER BY seq LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING seq`,
    [upTo, limit],
  );
  return rows.length;
}
