import type { StoredChildLog } from '../../core/ports/records.ts';
import type { StoredEvent } from '../../core/ports.ts';

/** An event in a resource; `ts` is in epoch milliseconds. */
export type ResourceRunEvent = ReturnType<typeof runEvent>;
/** An entry of an agent's log in a resource; `ts` is in epoch milliseconds. */
export type ResourceChildLogEntry = ReturnType<typeof childLogEntry>;

export function runEvent({ seq, tsMs, kind, level, runId, opId, payload, ...about }: StoredEvent) {
  const { jobId = null, graphId = null, nodeId = null, childId = null } = about;
  return { seq, ts: tsMs, kind, level, jobId, runId, opId, graphId, nodeId, childId, payload };
}

export function childLogEntry(entry: StoredChildLog) {
  const { seq, tsMs, stream, message, runId, childId, parsed, ...about } = entry;
  const { jobId = null, opId = null, graphId = null, nodeId = null } = about;
  const raw = stream === 'meta' ? null : message;
  return { seq, ts: tsMs, stream, message, jobId, runId, opId, graphId, nodeId, childId, raw, parsed };
}
