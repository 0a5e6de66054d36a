import type { ChildLogRecord, StoredChildLog } from '../core/ports/records.ts';
import type { EventRecord, Store, StoredEvent } from '../core/ports.ts';
import { bounded, type Rows } from './sql/rows.ts';

/** An event's row, with the column names of either database. */
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

/** Rows to add to one of the two logs: times, then texts, by column; `audit` is a number. */
export interface LogRows {
  readonly log: 'event' | 'child_log';
  /** The first one is a number. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number | null)[])[];
}

export function eventRows(events: readonly EventRecord[]): LogRows {
  const columns = 'ts_ms kind level run_id op_id job_id graph_id node_id child_id payload project audit'.split(' ');
  const rows = events.map(({ tsMs, kind, level, runId, opId, payload, audit, ...about }) => {
    const { jobId = null, graphId = null, nodeId = null, childId = null, project = null } = about;
    const text = JSON.stringify(payload);
    return [Math.trunc(tsMs), kind, level, runId, opId, jobId, graphId, nodeId, childId, text, project, audit ? 1 : 0];
  });
  return { log: 'event', columns, rows };
}

/** Refusals of one key for one reason within this time are folded into one event, whichever process refused. */
const MINUTE_MS = 60_000;
/** The kind of event that is folded. */
export const FOLDED_KIND = 'key_refused';

/** An existing event of that kind. */
export interface FoldedRow {
  readonly seq: number;
  readonly payload: string;
}

/** The minute of an event, from its first to its last millisecond. */
export function minuteOf(tsMs: number): readonly [number, number] {
  const from = Math.floor(tsMs / MINUTE_MS) * MINUTE_MS;
  return [from, from + MINUTE_MS];
}

/** Events in order, with refusals of the same key, reason and minute folded into one. */
export function foldedTogether(events: readonly EventRecord[]): EventRecord[] {
  const together = new Map<string, EventRecord>();
  for (const [i, event] of events.entries()) {
    const { kind, tsMs, payload } = event;
    const id = kind === FOLDED_KIND ? JSON.stringify([minuteOf(tsMs), payload.key_id, payload.reason]) : String(i);
    const first = together.get(id);
    const times = Number(first?.payload.times ?? 0) + Number(payload.times);
    together.set(id, first ? { ...first, payload: { ...first.payload, times } } : event);
  }
  return [...together.values()];
}

/** The row to fold an event into, with its new payload; `null` if none has the same key and reason. */
export function foldedInto(
  { payload }: EventRecord,
  rows: readonly FoldedRow[],
): { readonly seq: number; readonly payload: string } | null {
  for (const { seq, payload: text } of rows) {
    const known = JSON.parse(text) as EventRecord['payload'];
    if (known.key_id !== payload.key_id || known.reason !== payload.reason) continue;
    return { seq, payload: JSON.stringify({ ...known, times: Number(known.times) + Number(payload.times) }) };
  }
  return null;
}

export function childLogRows(entries: readonly ChildLogRecord[]): LogRows {
  const columns = 'ts_ms child_id run_id stream message parsed op_id job_id graph_id node_id'.split(' ');
  const rows = entries.map(({ tsMs, childId, runId, stream, message, parsed, ...about }) => {
    const { opId = null, jobId = null, graphId = null, nodeId = null } = about;
    const text = parsed === null ? null : JSON.stringify(parsed);
    return [Math.trunc(tsMs), childId, runId, stream, message, text, opId, jobId, graphId, nodeId];
  });
  return { log: 'child_log', columns, rows };
}

/** As `Store.events`. */
export async function listEvents(
  rows: Rows,
  { runId, fromSeq, limit }: Parameters<Store['events']>[0],
): Promise<readonly StoredEvent[]> {
  const [ofRun, run] = runId === undefined ? ['', []] : ['run_id = ? AND', [runId]];
  const found = await rows.all<EventRow>(
    `SELECT ${EVENT_COLUMNS} FROM main.event WHERE ${ofRun} seq >= ? ORDER BY seq LIMIT ?`,
    [...run, Math.trunc(fromSeq), bounded(limit)],
  );
  return found.map(eventOf);
}

/** An entry of an agent's log, likewise. */
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

/** The non-null columns, renamed to the fields of the ports. */
function named<Name extends string>(columns: Readonly<Record<Name, string | null>>) {
  const found: { [Key in Name]?: string } = {};
  for (const name of Object.keys(columns) as Name[]) {
    const text = columns[name];
    if (text !== null) found[name] = text;
  }
  return found;
}
