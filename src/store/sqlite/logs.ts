import type { ChildLogRecord } from '../../core/ports/records.ts';
import type { EventRecord } from '../../core/ports.ts';
import type { Statements } from './statements.ts';

/** Adds events, numbered without reuse, and deletes the oldest beyond `keep`; inside the caller's transaction. */
export function addEvents(sql: Statements, events: readonly EventRecord[], keep: number): void {
  for (const { tsMs, kind, level, runId, opId, payload, ...about } of events) {
    const { jobId = null, graphId = null, nodeId = null, childId = null, project = null } = about;
    const text = JSON.stringify(payload);
    sql.run(
      `INSERT INTO event (ts_ms, kind, level, run_id, op_id, job_id, graph_id, node_id, child_id, payload, project)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[Math.trunc(tsMs), kind, level, runId, opId, jobId, graphId, nodeId, childId, text, project],
    );
  }
  sql.trimLog('event', keep, events.length * 2);
}

/** As `addEvents`, for what agents said and did. */
export function addChildLogs(sql: Statements, entries: readonly ChildLogRecord[], keep: number): void {
  for (const { tsMs, childId, runId, stream, message, parsed, ...about } of entries) {
    const { opId = null, jobId = null, graphId = null, nodeId = null } = about;
    const text = parsed === null ? null : JSON.stringify(parsed);
    sql.run(
      `INSERT INTO child_log (ts_ms, child_id, run_id, stream, message, parsed, op_id, job_id, graph_id, node_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[Math.trunc(tsMs), childId, runId, stream, message, text, opId, jobId, graphId, nodeId],
    );
  }
  sql.trimLog('child_log', keep, entries.length * 2);
}
