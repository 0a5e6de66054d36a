import type { StoredChildLog } from '../core/ports/records.ts';
import type { Store, StoredEvent } from '../core/ports.ts';
import { bounded, type Rows } from './rows.ts';

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

/** As `Store.events`. */
export async function listEvents(
  rows: Rows,
  { runId, fromSeq, limit }: Parameters<Store['events']>[0],
): Promise<readonly StoredEvent[]> {
  const [ofRun, run] = runId === undefined ? ['', []] : ['run_id = ? AND', [runId]];
  const found = await rows.all<EventRow>(
    `SELECT ${EVENT_COLUMNS} FROM mcp_pruner.event WHERE ${ofRun} seq >= ? ORDER BY seq LIMIT ?`,
    ...[...run, Math.trunc(fromSeq), bounded(limit)],
  );
  return found.map(eventOf);
}

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

export function eventOf(row: EventRow): StoredEvent {
  return {
    seq: row.seq,
    tsMs: row.ts_ms,
    kind: row.kind,
    level: row.level,
    runId: row.run_id,
    opId: row.op_id,
    ...named({ jobId: row.job_id, graphId: row.graph_id, nodeId: row.node_id, childId: row.child_id }),
    payload: JSON.parse(row.payload) as StoredEvent['payload'],
  };
}

export function childLogOf(row: ChildLogRow): StoredChildLog {
  return {
    seq: row.seq,
    tsMs: row.ts_ms,
    childId: row.child_id,
    runId: row.run_id,
    stream: row.stream,
    message: row.message,
    ...named({ opId: row.op_id, jobId: row.job_id, graphId: row.graph_id, nodeId: row.node_id }),
    parsed: row.parsed === null ? null : (JSON.parse(row.parsed) as StoredChildLog['parsed']),
  };
}

/** Those of some columns that have a value, by the names that the ports give them. */
function named<Name extends string>(columns: Readonly<Record<Name, string | null>>) {
  const found: { [Key in Name]?: string } = {};
  for (const name of Object.keys(columns) as Name[]) {
    const text = columns[name];
    if (text !== null) found[name] = text;
  }
  return found;
}
