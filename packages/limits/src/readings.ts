import type { Reading } from '@mcp-pruner/money/limits/attribution.ts';
import type { Arm } from 'mcp-pruner/core/ports/ledger.ts';
import { each, type Rows, type Steps } from 'mcp-pruner/store/sql/steps.ts';
import { READING_COLUMNS } from './tables.ts';
import type { StoredReading } from './window-fold.ts';

const INSERT = `INSERT INTO main.limit_reading (${READING_COLUMNS.join(', ')})
  VALUES (${READING_COLUMNS.map(() => '?').join(', ')})`;

const SELECT = `SELECT id, account, provider, plan, name AS "window", minutes, resets_s AS "resetsS", used, status, request, project,
  session, conversation, key_id AS "keyId", model, started_ms AS "startedMs", ended_ms AS "endedMs", weight
  FROM main.limit_reading`;

/** Maximum number of readings per report, newest first. */
const MAX_READ = 300_000;
/** Some readings report a reset that is earlier by up to this, in seconds. */
const LATE_S = 600;

export function* addReadings(readings: readonly Reading[]): Steps<void> {
  yield* each(
    INSERT,
    readings.map((one) => [
      ...[one.account, one.provider, one.plan, one.window, one.minutes, one.resetsS, one.used, one.status],
      ...[one.request, one.project, one.session, one.conversation, one.keyId, one.model],
      ...[one.startedMs, one.endedMs, one.weight],
    ]),
  );
}

/**
 * Readings in the order in which their answers ended.
 *
 * @param nowMs - windows that reset after this are read completely
 * @param sinceMs - for other windows, only answers that ended after this
 * @throws StoreUnavailable
 */
export async function readReadings(
  rows: Pick<Rows, 'all'>,
  nowMs: number,
  sinceMs = Number.MAX_SAFE_INTEGER,
): Promise<readonly Reading[]> {
  const found = await rows.all<Reading>(
    `${SELECT} WHERE resets_s > ? OR ended_ms > ? ORDER BY ended_ms DESC, used DESC, id DESC LIMIT ${MAX_READ}`,
    [Math.trunc(nowMs / 1000) - LATE_S, Math.trunc(sinceMs)],
  );
  return found.toReversed();
}

/** Id of the first reading of a window that has not been reset; one above all ids if there is none. @throws StoreUnavailable */
export async function firstOpenReading(rows: Pick<Rows, 'all'>, nowMs: number): Promise<number> {
  const [row] = await rows.all<{ readonly id: number }>(
    `SELECT coalesce(min(id), (SELECT coalesce(max(id), 0) + 1 FROM main.limit_reading)) AS id FROM main.limit_reading
     WHERE resets_s > ?`,
    [Math.trunc(nowMs / 1000) - LATE_S],
  );
  return Number(row?.id ?? 1);
}

/** Readings in the order in which they were added, after an id. @throws StoreUnavailable */
export async function readNewReadings(
  rows: Pick<Rows, 'all'>,
  afterId: number,
  limit: number,
): Promise<readonly StoredReading[]> {
  const found = await rows.all<StoredReading>(`${SELECT} WHERE id > ? ORDER BY id LIMIT ?`, [afterId, limit]);
  return found.map((one) => ({ ...one, id: Number(one.id) }));
}

/** Id of the newest reading; 0 if there is none. @throws StoreUnavailable */
export async function newestReading(rows: Pick<Rows, 'all'>): Promise<number> {
  const [row] = await rows.all<{ id: number | null }>('SELECT max(id) AS id FROM main.limit_reading');
  return Number(row?.id ?? 0);
}

/** Readings by their ids. @throws StoreUnavailable */
export async function readReadingsOf(rows: Pick<Rows, 'all'>, ids: readonly number[]): Promise<StoredReading[]> {
  const found = await rows.all<StoredReading>(`${SELECT} WHERE id IN LIST(?)`, [ids]);
  return found.map((one) => ({ ...one, id: Number(one.id) }));
}

/** Arms of conversations billed since then. @throws StoreUnavailable */
export async function readArms(rows: Pick<Rows, 'all'>, sinceMs: number): Promise<ReadonlyMap<string, Arm>> {
  const found = await rows.all<{ readonly conversation: string; readonly arm: Arm }>(
    'SELECT DISTINCT conversation, arm FROM main.ledger_turn WHERE at_ms > ?',
    [Math.trunc(sinceMs)],
  );
  return new Map(found.map(({ conversation, arm }) => [conversation, arm]));
}

/** Savings by cuts, relative to each request's cost. @throws StoreUnavailable */
export async function readSavedRatios(rows: Pick<Rows, 'all'>, sinceMs: number): Promise<ReadonlyMap<string, number>> {
  const found = await rows.all<{ readonly request: string; readonly ratio: number }>(
    `SELECT request_id AS request, (dollars_without - dollars) / dollars AS ratio FROM main.ledger_turn
     WHERE at_ms > ? AND dollars > 0 AND dollars_without > dollars ORDER BY id DESC LIMIT ${MAX_READ}`,
    [Math.trunc(sinceMs)],
  );
  return new Map(found.map(({ request, ratio }) => [request, ratio]));
}
