import type { ChildLogRecord } from '../../core/ports/records.ts';
import type { Queryable } from './database.ts';
import { trimLog } from './events.ts';
import { toPg, toPgOrNull } from './text.ts';

/** Adds lines of agents and deletes the oldest beyond `keep`; inside the caller's transaction, numbered as events are. */
export async function addChildLogs(client: Queryable, entries: readonly ChildLogRecord[], keep: number): Promise<void> {
  const [base] = await client.query<{ seq: number }>("SELECT mcp_pruner.next_seq('child_log', $1) AS seq", [
    entries.length,
  ]);
  const seq = base?.seq ?? 0;
  await client.query(
    `INSERT INTO mcp_pruner.child_log
         (seq, ts_ms, child_id, run_id, stream, message, parsed, op_id, job_id, graph_id, node_id)
       SELECT $1 + n, t, c, r, s, m, p, o, j, g, d
       FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
         $8::text[], $9::text[], $10::text[], $11::text[]) WITH ORDINALITY u (t, c, r, s, m, p, o, j, g, d, n)`,
    [
      seq,
      entries.map(({ tsMs }) => Math.trunc(tsMs)),
      entries.map(({ childId }) => toPg(childId)),
      entries.map(({ runId }) => toPgOrNull(runId)),
      entries.map(({ stream }) => stream),
      entries.map(({ message }) => toPg(message)),
      entries.map(({ parsed }) => (parsed === null ? null : JSON.stringify(parsed))),
      entries.map(({ opId }) => toPgOrNull(opId)),
      entries.map(({ jobId }) => toPgOrNull(jobId)),
      entries.map(({ graphId }) => toPgOrNull(graphId)),
      entries.map(({ nodeId }) => toPgOrNull(nodeId)),
    ],
  );
  await trimLog(client, 'child_log', seq + entries.length - keep, entries.length * 2);
}
