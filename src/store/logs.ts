import type { ChildLogRecord, StoredChildLog } from '../core/ports/records.ts';
import type { EventRecord, Store, StoredEvent } from '../core/ports.ts';
import { all, append, bounded, change, holdLog, number, type Rows, type Steps } from './sql/steps.ts';

/** Row of an event, with the column names of either database. */
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

/** One of the two logs. */
export type Log = 'event' | 'child_log';

const EVENT_VALUES = 'ts_ms, kind, level, run_id, op_id, job_id, graph_id, node_id, child_id, payload, project, audit';
const LINE_VALUES = 'ts_ms, child_id, run_id, stream, message, parsed, op_id, job_id, graph_id, node_id';

/** Adds events, and deletes the oldest beyond the limit, except audit events. */
export function* addEvents(events: readonly EventRecord[]): Steps<void> {
  const added: EventRecord[] = [];
  for (const event of foldedTogether(events)) {
    if (event.kind !== FOLDED_KIND || !(yield* fold(event))) added.push(event);
  }
  const rows = added.map(({ tsMs, kind, level, runId, opId, payload, audit, ...about }) => {
    const { jobId = null, graphId = null, nodeId = null, childId = null, project = null } = about;
    const text = JSON.stringify(payload);
    return [Math.trunc(tsMs), kind, level, runId, opId, jobId, graphId, nodeId, childId, text, project, audit ? 1 : 0];
  });
  yield* addToLog('event', EVENT_VALUES, rows);
}

/** Adds lines of agents' output, and deletes the oldest beyond the limit. */
export function* addLines(lines: readonly ChildLogRecord[]): Steps<void> {
  const rows = lines.map(({ tsMs, childId, runId, stream, message, parsed, ...about }) => {
    const { opId = null, jobId = null, graphId = null, nodeId = null } = about;
    const text = parsed === null ? null : JSON.stringify(parsed);
    return [Math.trunc(tsMs), childId, runId, stream, message, text, opId, jobId, graphId, nodeId];
  });
  yield* addToLog('child_log', LINE_VALUES, rows);
}

function* addToLog(log: Log, columns: string, rows: readonly (readonly unknown[])[]): Steps<void> {
  if (rows.length === 0) return;
  const { last, keep } = yield* append(log, columns, rows);
  if (last > keep) yield* trimLog(log, keep, rows.length * 2);
}

/** Deletes the oldest entries beyond the newest `keep`, at most `limit`, except audit events; returns their number. */
export function* trimLog(log: Log, keep: number, limit: number): Steps<number> {
  const newest = yield* number(`SELECT seq AS value FROM main.${log} ORDER BY seq DESC LIMIT 1`);
  const isEvent = log === 'event';
  const audits = isEvent
    ? yield* number('SELECT count(*) AS value FROM main.event WHERE audit = 1 AND seq > ?', [newest - keep])
    : 0;
  const old = `SELECT seq FROM main.${log} WHERE ${isEvent ? 'audit = 0 AND' : ''} seq <= ? ORDER BY seq LIMIT ?`;
  return yield* change(`DELETE FROM main.${log} WHERE seq IN (${old})`, [newest - keep - audits, limit]);
}

/** Refusals of one key for one reason within this time are folded into one event, across processes. */
const MINUTE_MS = 60_000;
/** The event kind that is folded. */
const FOLDED_KIND = 'key_refused';

/** An existing event of the folded kind. */
interface FoldedRow {
  readonly seq: number;
  readonly payload: string;
}

/** First and last millisecond of an event's minute. */
function minuteOf(tsMs: number): readonly [number, number] {
  const from = Math.floor(tsMs / MINUTE_MS) * MINUTE_MS;
  return [from, from + MINUTE_MS];
}

/** Events in order, with refusals of the same key, reason and minute folded into one. */
function foldedTogether(events: readonly EventRecord[]): EventRecord[] {
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

/** The row into which an event is folded, with its new payload; `null` if no row has the same key and reason. */
function foldedInto(
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

function* fold(event: EventRecord): Steps<boolean> {
  yield* holdLog('event'); // another transaction may be adding the same event
  const rows = yield* all<FoldedRow>(
    'SELECT seq, payload FROM main.event WHERE audit = 1 AND ts_ms >= ? AND ts_ms < ? AND kind = ?',
    [...minuteOf(event.tsMs), FOLDED_KIND],
  );
  const into = foldedInto(event, rows);
  if (into) yield* change('UPDATE main.event SET payload = ? WHERE seq = ?', [into.payload, into.seq]);
  return into !== null;
}

/** See `Store.events`. */
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

/** Row of an agent log entry, with the column names of either database. */
export interface ChildLogRow extends Omit<EventRow, 'kind' | 'level' | 'run_id' | 'child_id' | 'payload'> {
  readonly child_id: string;
  readonly run_id: string | null;
  readonly stream: StoredChildLog['stream'];
  readonly message: string;
  readonly parsed: string | null;
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
