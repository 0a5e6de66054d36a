import type { StoredChildLog } from '../../core/ports/records.ts';
import type { StoredEvent } from '../../core/ports.ts';

interface Delivered {
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly ts: number;
  readonly jobId: string | null;
  readonly runId: string | null;
  readonly opId: string | null;
  readonly graphId: string | null;
  readonly nodeId: string | null;
  readonly childId: string | null;
}

export interface ResourceRunEvent extends Delivered {
  readonly kind: string;
  readonly level: string;
  readonly runId: string;
  readonly payload: unknown;
}

export interface ResourceChildLogEntry extends Delivered, Pick<StoredChildLog, 'stream' | 'message' | 'parsed'> {
  readonly childId: string;
  readonly raw: string | null;
}

export function runEvent({ seq, tsMs, kind, level, runId, opId, payload, ...about }: StoredEvent): ResourceRunEvent {
  const { jobId = null, graphId = null, nodeId = null, childId = null } = about;
  return { seq, ts: tsMs, kind, level, jobId, runId, opId, graphId, nodeId, childId, payload };
}

export function childLogEntry(entry: StoredChildLog): ResourceChildLogEntry {
  const { seq, tsMs, stream, message, runId, childId, parsed, ...about } = entry;
  const { jobId = null, opId = null, graphId = null, nodeId = null } = about;
  const raw = stream === 'meta' ? null : message;
  return { seq, ts: tsMs, stream, message, jobId, runId, opId, graphId, nodeId, childId, raw, parsed };
}
