import type { StoredChildLog } from '../core/ports/records.ts';
import type { StoredEvent } from '../core/ports.ts';

/** What a resource says of one event. */
export interface ResourceRunEvent {
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly ts: number;
  readonly kind: string;
  readonly level: string;
  readonly jobId: null;
  readonly runId: string;
  readonly opId: string | null;
  readonly graphId: null;
  readonly nodeId: null;
  readonly childId: null;
  readonly payload: unknown;
}

/** What a resource says of one entry of an agent's log. */
export interface ResourceChildLogEntry {
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly ts: number;
  readonly stream: 'stdout' | 'stderr' | 'meta';
  readonly message: string;
  readonly jobId: null;
  readonly runId: string | null;
  readonly opId: null;
  readonly graphId: null;
  readonly nodeId: null;
  readonly childId: string;
  readonly raw: string | null;
  readonly parsed: unknown;
}

export function runEvent({ seq, tsMs, kind, level, runId, opId, payload }: StoredEvent): ResourceRunEvent {
  return { seq, ts: tsMs, kind, level, jobId: null, runId, opId, graphId: null, nodeId: null, childId: null, payload };
}

export function childLogEntry({ seq, tsMs, stream, message, runId, childId, parsed }: StoredChildLog) {
  const entry: ResourceChildLogEntry = {
    seq,
    ts: tsMs,
    stream,
    message,
    jobId: null,
    runId,
    opId: null,
    graphId: null,
    nodeId: null,
    childId,
    raw: stream === 'meta' ? null : message,
    parsed,
  };
  return entry;
}
