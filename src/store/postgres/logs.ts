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
import type { Queryable } from './database.ts';
import { columnsOf } from './database-sql.ts';
import { fromPg, toPg } from './text.ts';

/** Adds events, and deletes the oldest beyond `keep`, except audit events; inside the caller's transaction. */
export async function addEvents(client: Queryable, events: readonly EventRecord[], keep: number): Promise<void> {
  const added: EventRecord[] = [];
  for (const event of foldedTogether(events)) {
    if (event.kind !== FOLDED_KIND || !(await fold(client, event))) added.push(event);
  }
  if (added.length > 0) await addToLog(client, eventRows(added), keep);
}

async function fold(client: Queryable, event: EventRecord): Promise<boolean> {
  // the lock of event numbering: another process may be adding the same event
  await client.query("SELECT seq FROM mcp_pruner.log_seq WHERE log = 'event' FOR UPDATE");
  const rows = await client.query<{ seq: number; payload: string }>(
    'SELECT seq, payload FROM mcp_pruner.event WHERE audit = 1 AND ts_ms >= $1 AND ts_ms < $2 AND kind = $3',
    [...minuteOf(event.tsMs), FOLDED_KIND],
  );
  const into = foldedInto(
    event,
    rows.map(({ seq, payload }): FoldedRow => ({ seq, payload: fromPg(payload) })),
  );
  if (into === null) return false;
  await client.query('UPDATE mcp_pruner.event SET payload = $1 WHERE seq = $2', [toPg(into.payload), into.seq]);
  return true;
}

/**
 * Adds to a log and deletes the oldest entries beyond `keep`; inside the caller's transaction. The row with the log's
 * last number stays locked until the commit, so numbers become visible in order and without gaps.
 */
export async function addToLog(client: Queryable, { log, columns, rows }: LogRows, keep: number): Promise<void> {
  const [base] = await client.query<{ seq: number }>('SELECT mcp_pruner.next_seq($1, $2) AS seq', [log, rows.length]);
  const seq = base?.seq ?? 0;
  const lists = columns.map((name, i) => `$${i + 2}::${i === 0 ? 'bigint' : name === 'audit' ? 'int' : 'text'}[]`);
  await client.query(
    `INSERT INTO mcp_pruner.${log} (seq, ${columns})
     SELECT $1 + n, ${columns} FROM unnest(${lists}) WITH ORDINALITY u (${columns}, n)`,
    [seq, ...columnsOf(rows, columns.length)],
  );
  await trimLog(client, log, seq + rows.length, keep, rows.length * 2);
}

/**
 * Deletes the oldest entries beyond the newest `keep`, at most `limit`, except audit events; returns their number.
 *
 * @param newest - number of the newest entry
 */
export async function trimLog(
  client: Queryable,
  log: LogRows['log'],
  newest: number,
  keep: number,
  limit: number,
): Promise<number> {
  const isEvent = log === 'event';
  const [audits] = isEvent
    ? await client.query<{ count: number }>(
        'SELECT count(*) AS count FROM mcp_pruner.event WHERE audit = 1 AND seq > $1',
        [newest - keep],
      )
    : [];
  const rows = await client.query(
    `DELETE FROM mcp_pruner.${log} WHERE seq IN (
       SELECT seq FROM mcp_pruner.${log} WHERE ${isEvent ? 'audit = 0 AND' : ''} seq <= $1 ORDER BY seq LIMIT $2
       FOR UPDATE SKIP LOCKED) RETURNING seq`,
    [newest - keep - (audits?.count ?? 0), limit],
  );
  return rows.length;
}
