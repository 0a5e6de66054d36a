import type { LedgerTurn } from '../core/ports/ledger.ts';
import type {
  LedgerState,
  LedgerSum,
  Settled,
  SettleQuery,
  Settling,
  WaitingRequest,
} from '../core/ports/ledger-store.ts';
import { groupBy } from '../engine/group-by.ts';
import { addedUp, MAX_WAITING_READ, noteName, TURN_COLUMNS, turnCells } from './ledger-rows.ts';
import { folded, hasRoom, idOf, namesOf } from './ledger-sums.ts';
import { all, change, each, number, one, type Steps } from './sql/steps.ts';

const STATE = 's.name, s.lineage, s.at_ms AS "atMs", s.version, s.data';
const WAITING = `SELECT request_id AS "requestId", since_ms AS "sinceMs", names, lineage, data FROM main.ledger_waiting
  ORDER BY id LIMIT ${MAX_WAITING_READ}`;
const ADD_WAITING = `INSERT INTO main.ledger_waiting (request_id, since_ms, names, lineage, data) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;
const PUT_STATE = `INSERT INTO main.ledger_state AS s (name, lineage, at_ms, version, data) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET lineage = excluded.lineage, version = excluded.version, data = excluded.data,
    at_ms = CASE WHEN s.at_ms < excluded.at_ms THEN excluded.at_ms ELSE s.at_ms END`;
const ADD_TURN = `INSERT INTO main.ledger_turn (${TURN_COLUMNS.join(', ')}) VALUES (${TURN_COLUMNS.map(() => '?').join(', ')})
  ON CONFLICT DO NOTHING`;
const ADD_SUM = `INSERT INTO main.ledger_sum AS s (day, project, slice, key, field, value) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (day, project, slice, key, field) DO UPDATE SET value = s.value + excluded.value`;

/** Figures of keys are outside the limit of a day. */
const COUNT_SUMS = "SELECT count(*) AS value FROM main.ledger_sum WHERE day = ? AND slice <> 'key'";

/** The stored state needed to bill these requests. */
export function* settlingOf({ states, lineages, requestIds, process }: SettleQuery): Steps<Settling> {
  const rows = yield* all<Omit<WaitingRequest, 'names'> & { readonly names: string }>(WAITING);
  const waiting = rows.map((row) => ({ ...row, names: JSON.parse(row.names) as string[] }));
  const asked = new Map([...waiting.flatMap(({ names }) => names.map((name) => [name, 0] as const)), ...states]);
  const stored = yield* all<{ readonly name: string; readonly version: number }>(
    'SELECT name, version FROM main.ledger_state WHERE name IN LIST(?)',
    [[...asked.keys()]],
  );
  const unchanged = new Set(
    stored.flatMap(({ name, version }) => (version !== 0 && asked.get(name) === version ? name : [])),
  );
  const changed = stored.flatMap(({ name }) => (unchanged.has(name) ? [] : name));
  const ofLineages = [...new Set([...lineages, ...waiting.flatMap(({ lineage }) => lineage || [])])];
  const seen = yield* all<{ readonly id: string }>(
    `SELECT request_id AS id FROM main.ledger_turn WHERE request_id IN LIST(?)
     UNION ALL SELECT request_id FROM main.ledger_waiting WHERE request_id IN LIST(?)`,
    [requestIds, requestIds],
  );
  const others = yield* one(
    `SELECT 1 AS found FROM main.ledger_state WHERE lineage = ? AND lineage <> '' AND name <> ? AND at_ms > ? LIMIT 1`,
    [process.lineage, process.name, process.aliveFromMs],
  );
  return {
    states: yield* all<LedgerState>(`SELECT ${STATE} FROM main.ledger_state s WHERE s.name IN LIST(?)`, [changed]),
    unchanged,
    newest: yield* newestOf(ofLineages),
    waiting,
    seen: new Set(seen.map(({ id }) => id)),
    others: others !== null,
  };
}

/** The newest state of each lineage. */
function* newestOf(lineages: readonly string[]): Steps<LedgerState[]> {
  const found = yield* all<LedgerState>(
    `SELECT ${STATE} FROM main.ledger_state s JOIN
       (SELECT lineage, max(at_ms) AS at_ms FROM main.ledger_state WHERE lineage IN LIST(?) AND lineage <> '' GROUP BY lineage) n
       ON n.lineage = s.lineage AND n.at_ms = s.at_ms WHERE s.lineage <> ''`,
    [lineages],
  );
  return [...new Map(found.map((state) => [state.lineage, state])).values()];
}

export function* settle({ turns, sums, states, removed, waits, billed }: Settled): Steps<number> {
  if (billed.length > 0) yield* change('DELETE FROM main.ledger_waiting WHERE request_id IN LIST(?)', [billed]);
  yield* each(
    ADD_WAITING,
    waits.map(({ requestId, sinceMs, names, lineage, data }) => [
      ...[requestId, sinceMs, JSON.stringify(names), lineage, data],
    ]),
  );
  yield* each(
    PUT_STATE,
    states.map(({ name, lineage, atMs, version, data }) => [name, lineage, Math.trunc(atMs), version, data]),
  );
  if (removed.length > 0) yield* change('DELETE FROM main.ledger_state WHERE name IN LIST(?)', [removed]);
  return yield* addToLedger(turns, sums);
}

/** Adds requests and figures; returns the number of folded figures. */
export function* addToLedger(turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Steps<number> {
  yield* each(ADD_TURN, turns.map(turnCells));
  let moved = 0;
  for (const [day, own] of groupBy(addedUp(sums), (sum) => sum.day)) {
    const count = yield* number(COUNT_SUMS, [day]);
    const placed = hasRoom(count, own.length)
      ? { sums: own, folded: 0 }
      : folded(own, { count, ...(yield* figuresOf(day, own)) });
    yield* each(
      ADD_SUM,
      addedUp(placed.sums).map((sum) => [sum.day, sum.project, sum.slice, sum.key, sum.field, sum.value]),
    );
    moved += placed.folded;
  }
  return moved;
}

/** The existing figures of a day among all names that these may be stored under. */
function* figuresOf(day: string, sums: readonly LedgerSum[]) {
  const names = sums.flatMap(namesOf);
  const rows = yield* all<Omit<LedgerSum, 'value'>>(
    `SELECT day, project, slice, key, field FROM main.ledger_sum
     WHERE day = ? AND project IN LIST(?) AND slice IN LIST(?) AND key IN LIST(?)`,
    [
      day,
      ...[names.map((sum) => sum.project), names.map((sum) => sum.slice), names.map((sum) => sum.key)].map(distinct),
    ],
  );
  const partOf = (sum: Omit<LedgerSum, 'value'>): string => idOf({ ...sum, field: '', value: 0 });
  const known = new Set(rows.map((row) => idOf({ ...row, value: 0 })));
  const parts = new Set(rows.map(partOf));
  return { has: (sum: LedgerSum) => known.has(idOf(sum)), hasPart: (sum: LedgerSum) => parts.has(partOf(sum)) };
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)];
}

/** As `StoreHandle.exchange`: a state that never expires. */
export function* exchangeNote(name: string, text: string): Steps<string | null> {
  const key = noteName(name);
  const before = yield* one<{ data: string }>('SELECT data FROM main.ledger_state WHERE name = ?', [key]);
  yield* each(PUT_STATE, [[key, '', Number.MAX_SAFE_INTEGER, 1, text]]);
  return before?.data ?? null;
}
