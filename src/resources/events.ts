import type { StoredChildLog } from '../core/ports/records.ts';
import type { StoredEvent } from '../core/ports.ts';

/** What a resource says of one event. */
export interface ResourceRunEvent {
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly ts: number;
  readonly kind: string;
  readonly level: string;
  readonly jobId: string | null;
  readonly runId: string;
  readonly opId: string | null;
  readonly graphId: string | null;
  readonly nodeId: string | null;
  readonly childId: string | null;
  readonly payload: unknown;
}

/** What a resource says of one entry of an agent's log. */
export interface ResourceChildLogEntry {
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly ts: number;
  readonly stream: 'stdout' | 'stderr' | 'meta';
  readonly message: string;
  readonly jobId: string | null;
  readonly runId: string | null;
  readonly opId: string | null;
  readonly graphId: string | null;
  readonly nodeId: string | null;
  readonly childId: string;
  readonly raw: string | null;
  readonly parsed: unknown;
}

export function runEvent({ seq, tsMs, kind, level, runId, opId, payload, ...about }: StoredEvent): ResourceRunEvent {
  const { jobId = null, graphId = null, nodeId = null, childId = null } = about;
  return { seq, ts: tsMs, kind, level, jobId, runId, opId, graphId, nodeId, childId, payload };
}

export function childLogEntry({ seq, tsMs, stream, message, runId, childId, parsed, ...about }: StoredChildLog) {
  const { jobId = null, opId = null, graphId = null, nodeId = null } = about;
  const entry: ResourceChildLogEntry = {
    seq,
    ts: tsMs,
    stream,
    message,
    jobId,
    runId,
    opId,
    graphId,
    nodeId,
    childId,
    raw: stream === 'meta' ? null : message,
    parsed,
  };
  return entry;
}
