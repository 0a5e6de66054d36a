import type { StoredChildLog } from '../core/ports/records.ts';
import type { StoredEvent } from '../core/ports.ts';

/** An event's row, by the names that its columns have in every database. */
export interface EventRow {
  readonly seq: number;
  readonly ts_ms: number;
  readonly kind: string;
  readonly level: StoredEvent['level'];
  readonly run_id: string;
  readonly op_id: string | null;
  readonly job_id: string | null;
  readonly graph_id: string | null;
  readonly node_id: string | null;
  readonly child_id: string | null;
  readonly payload: string;
}

export const EVENT_COLUMNS = 'seq, ts_ms, kind, level, run_id, op_id, job_id, graph_id, node_id, child_id, payload';

/** What an agent said or did, likewise. */
export interface ChildLogRow {
  readonly seq: number;
  readonly ts_ms: number;
  readonly child_id: string;
  readonly run_id: string | null;
  readonly stream: StoredChildLog['stream'];
  readonly message: string;
  readonly parsed: string | null;
  readonly op_id: string | null;
  readonly job_id: string | null;
  readonly graph_id: string | null;
  readonly node_id: string | null;
}

export const CHILD_LOG_COLUMNS =
  'seq, ts_ms, child_id, run_id, stream, message, parsed, op_id, job_id, graph_id, node_id';

/** Turns a text of a database into what was stored. */
type ReadText = (text: string) => string;

const asItIs: ReadText = (text) => text;

export function eventOf(row: EventRow, read: ReadText = asItIs): StoredEvent {
  return {
    seq: row.seq,
    tsMs: row.ts_ms,
    kind: read(row.kind),
    level: row.level,
    runId: read(row.run_id),
    opId: row.op_id === null ? null : read(row.op_id),
    ...named({ jobId: row.job_id, graphId: row.graph_id, nodeId: row.node_id, childId: row.child_id }, read),
    payload: JSON.parse(row.payload) as StoredEvent['payload'],
  };
}

export function childLogOf(row: ChildLogRow, read: ReadText = asItIs): StoredChildLog {
  return {
    seq: row.seq,
    tsMs: row.ts_ms,
    childId: read(row.child_id),
    runId: row.run_id === null ? null : read(row.run_id),
    stream: row.stream,
    message: read(row.message),
    ...named({ opId: row.op_id, jobId: row.job_id, graphId: row.graph_id, nodeId: row.node_id }, read),
    parsed: row.parsed === null ? null : (JSON.parse(row.parsed) as StoredChildLog['parsed']),
  };
}

/** Those of some columns that have a value, by the names that the ports give them. */
function named<Name extends string>(columns: Readonly<Record<Name, string | null>>, read: ReadText) {
  const found: { [Key in Name]?: string } = {};
  for (const name of Object.keys(columns) as Name[]) {
    const text = columns[name];
    if (text !== null) found[name] = read(text);
  }
  return found;
}
