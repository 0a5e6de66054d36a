import type { EventRecord } from '../../core/ports.ts';
import type { Queryable } from './database.ts';
import { toPg, toPgOrNull } from './text.ts';

/**
 * Adds events and deletes the oldest beyond `keep`; inside the caller's transaction. The row of the log's last number stays
 * locked until the commit, so numbers become visible in their order and none is left out.
 */
export async function addEvents(client: Queryable, events: readonly EventRecord[], keep: number): Promise<void> {
  const [base] = await client.query<{ seq: number }>("SELECT mcp_pruner.next_seq('event', $1) AS seq", [events.length]);
  const seq = base?.seq ?? 0;
  await client.query(
    `INSERT INTO mcp_pruner.event (seq, ts_ms, kind, level, run_id, op_id, payload, job_id, graph_id, node_id, child_id, project)
     SELECT $1 + n, t, k, l, r, o, p, j, g, d, c, w
     FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
       $8::text[], $9::text[], $10::text[], $11::text[], $12::text[]) WITH ORDINALITY u (t, k, l, r, o, p, j, g, d, c, w, n)`,
    [
      seq,
      events.map(({ tsMs }) => Math.trunc(tsMs)),
      events.map(({ kind }) => toPg(kind)),
      events.map(({ level }) => level),
      events.map(({ runId }) => toPg(runId)),
      events.map(({ opId }) => toPgOrNull(opId)),
      events.map(({ payload }) => JSON.stringify(payload)),
      events.map(({ jobId }) => toPgOrNull(jobId)),
      events.map(({ graphId }) => toPgOrNull(graphId)),
      events.map(({ nodeId }) => toPgOrNull(nodeId)),
      events.map(({ childId }) => toPgOrNull(childId)),
      events.map(({ project }) => toPgOrNull(project)),
    ],
  );
  await trimLog(client, 'event', seq + events.length - keep, events.length * 2);
}

/** Deletes the oldest entries of a log up to a number, at most `limit`; returns how many. */
export async function trimLog(
  client: Queryable,
  log: 'event' | 'child_log',
  upTo: number,
  limit: number,
): Promise<number> {
  const rows = await client.query(
    `DELETE FROM mcp_pruner.${log} WHERE seq IN (
       SELECT seq FROM mcp_pruner.${log} WHERE seq <= $1 ORDER BY seq LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING seq`,
    [upTo, limit],
  );
  return rows.length;
}
