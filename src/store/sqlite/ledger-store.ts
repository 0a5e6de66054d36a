import type {
  BoldnessStep,
  LedgerState,
  LedgerStore,
  LedgerSum,
  LedgerTurn,
  Settled,
  SettleQuery,
  SettleWork,
  Settling,
  WaitingRequest,
} from '../../core/ports/ledger.ts';
import { groupBy } from '../../engine/group-by.ts';
import { LedgerLists } from '../ledger-lists.ts';
import {
  addedUp,
  MAX_STATES,
  MAX_TURNS,
  MAX_WAITING_READ,
  noteName,
  STATE_TTL_MS,
  TURN_COLUMNS,
  TURN_FIELDS,
  turnRow,
  WAITING_TTL_MS,
} from '../ledger-rows.ts';
import { folded, hasRoom } from '../ledger-sums.ts';
import { type Access, BACKGROUND_WAIT_MS } from './access.ts';
import type { Statements } from './statements.ts';

const ADD_TURN = `INSERT OR IGNORE INTO ledger_turn (${TURN_COLUMNS.join(', ')})
  VALUES (${TURN_FIELDS.map((field) => `@${field}`).join(', ')})`;
const WAITING = 'request_id AS requestId, since_ms AS sinceMs, names, lineage, data';
const STATE = 'name, lineage, at_ms AS atMs, version, data';

/** `LedgerStore` on the tables of a store's file. */
export class FileLedger extends LedgerLists implements LedgerStore {
  readonly #access: Access;

  readonly #keep: number;

  /** @param ttlMs - retention of rows; `null`: the newest 100,000 */
  constructor(access: Access, ttlMs: number | null) {
    super(access);
    this.#access = access;
    this.#keep = ttlMs === null ? MAX_TURNS : Number.MAX_SAFE_INTEGER;
  }

  settle(query: SettleQuery, work: SettleWork): Promise<number> {
    return this.#access.write(({ sql }) => settleOn(sql, work(settlingOf(sql, query)), this.#keep), {
      waitMs: BACKGROUND_WAIT_MS,
    });
  }

  async add(turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<number> {
    if (turns.length + sums.length === 0) return 0;
    return this.#access.write(({ sql }) => addTo(sql, turns, sums, this.#keep), { waitMs: BACKGROUND_WAIT_MS });
  }

  addStep(step: Omit<BoldnessStep, 'number'>, after: number): Promise<BoldnessStep | null> {
    return this.#access.write(({ sql }) => {
      const number = sql.value(
        `INSERT INTO ledger_step (project, tool, kind, step, at_ms, texts, regretted)
         SELECT @project, @tool, @kind, @step, @atMs, @texts, @regretted WHERE NOT EXISTS
           (SELECT 1 FROM ledger_step WHERE project = @project AND tool = @tool AND kind = @kind AND id > @after)
         RETURNING id`,
        [{ ...step, atMs: Math.trunc(step.atMs), after }],
      );
      return number === undefined ? null : { ...step, number };
    });
  }
}

/** The stored state needed to bill these requests. */
function settlingOf(sql: Statements, { states, lineages, requestIds, process }: SettleQuery): Settling {
  const rows = sql.all<Omit<WaitingRequest, 'names'> & { readonly names: string }>(
    `SELECT ${WAITING} FROM ledger_waiting ORDER BY id LIMIT ${MAX_WAITING_READ}`,
  );
  const waiting = rows.map((row) => ({ ...row, names: JSON.parse(row.names) as string[] }));
  const asked = new Map([...waiting.flatMap(({ names }) => names.map((name) => [name, 0] as const)), ...states]);
  const found: LedgerState[] = [];
  const unchanged = new Set<string>();
  for (const [name, version] of asked) {
    if (version !== 0 && sql.value('SELECT version FROM ledger_state WHERE name = ?', [name]) === version) {
      unchanged.add(name);
      continue;
    }
    const state = sql.get<LedgerState>(`SELECT ${STATE} FROM ledger_state WHERE name = ?`, [name]);
    if (state) found.push(state);
  }
  const newest = [...new Set([...lineages, ...waiting.flatMap(({ lineage }) => lineage || [])])].flatMap(
    (lineage) =>
      sql.get<LedgerState>(
        `SELECT ${STATE} FROM ledger_state WHERE lineage = ? AND lineage <> '' ORDER BY at_ms DESC LIMIT 1`,
        [lineage],
      ) ?? [],
  );
  const isSeen = (id: string): boolean =>
    sql.value('SELECT 1 FROM ledger_turn WHERE request_id = ?', [id]) !== undefined ||
    sql.value('SELECT 1 FROM ledger_waiting WHERE request_id = ?', [id]) !== undefined;
  const others = sql.value(
    `SELECT 1 FROM ledger_state WHERE lineage = ? AND lineage <> '' AND name <> ? AND at_ms > ? LIMIT 1`,
    [process.lineage, process.name, process.aliveFromMs],
  );
  return {
    states: found,
    unchanged,
    newest,
    waiting,
    seen: new Set(requestIds.filter(isSeen)),
    others: others !== undefined,
  };
}

function settleOn(sql: Statements, settled: Settled, keep: number): number {
  const { turns, sums, states, removed, waits, billed } = settled;
  for (const id of billed) sql.run('DELETE FROM ledger_waiting WHERE request_id = ?', [id]);
  for (const { requestId, sinceMs, names, lineage, data } of waits) {
    sql.run(
      'INSERT OR IGNORE INTO ledger_waiting (request_id, since_ms, names, lineage, data) VALUES (?, ?, ?, ?, ?)',
      [requestId, sinceMs, JSON.stringify(names), lineage, data],
    );
  }
  for (const { name, lineage, atMs, version, data } of states) {
    sql.run(
      `INSERT INTO ledger_state (name, lineage, at_ms, version, data) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET lineage = excluded.lineage, at_ms = max(at_ms, excluded.at_ms),
         version = excluded.version, data = excluded.data`,
      [name, lineage, Math.trunc(atMs), version, data],
    );
  }
  for (const name of removed) sql.run('DELETE FROM ledger_state WHERE name = ?', [name]);
  return addTo(sql, turns, sums, keep);
}

/** Adds requests and figures; returns the number of folded figures. */
function addTo(sql: Statements, turns: readonly LedgerTurn[], sums: readonly LedgerSum[], keep: number): number {
  let added = 0;
  for (const turn of turns) added += sql.run(ADD_TURN, [turnRow(turn)]);
  const old = 'SELECT id FROM ledger_turn WHERE id <= (SELECT max(id) FROM ledger_turn) - ? ORDER BY id LIMIT ?';
  if (added > 0) sql.run(`DELETE FROM ledger_turn WHERE id IN (${old})`, [keep, added * 2]);
  let moved = 0;
  const days = groupBy(addedUp(sums), ({ day }) => day);
  for (const [day, own] of days) {
    const count = sql.value("SELECT count(*) FROM ledger_sum WHERE day = ? AND slice <> 'key'", [day]) ?? 0;
    const placed = hasRoom(count, own.length) ? { sums: own, folded: 0 } : folded(own, { count, ...figuresOn(sql) });
    for (const sum of placed.sums) addSum(sql, sum);
    moved += placed.folded;
  }
  return moved;
}

const SUM = 'day = @day AND project = @project AND slice = @slice AND key = @key';

function figuresOn(sql: Statements) {
  return {
    has: (sum: LedgerSum) => sql.value(`SELECT 1 FROM ledger_sum WHERE ${SUM} AND field = @field`, [sum]) !== undefined,
    hasPart: (sum: LedgerSum) => sql.value(`SELECT 1 FROM ledger_sum WHERE ${SUM} LIMIT 1`, [sum]) !== undefined,
  };
}

function addSum(sql: Statements, sum: LedgerSum): void {
  sql.run(
    `INSERT INTO ledger_sum (day, project, slice, key, field, value)
     VALUES (@day, @project, @slice, @key, @field, @value)
     ON CONFLICT (day, project, slice, key, field) DO UPDATE SET value = value + excluded.value`,
    [sum],
  );
}

/** Deletes rows and states that are too old, at most `limit` of each; returns the larger number of deletions. */
export function trimLedger(sql: Statements, nowMs: number, ttlMs: number | null, limit: number): number {
  const before = (ms: number): number => Math.trunc(nowMs - ms);
  const rows =
    ttlMs === null
      ? 0
      : sql.run(
          'DELETE FROM ledger_turn WHERE id IN (SELECT id FROM ledger_turn WHERE at_ms < ? ORDER BY at_ms LIMIT ?)',
          [before(ttlMs), limit],
        );
  const surplus = (sql.value('SELECT count(*) FROM ledger_state') ?? 0) - MAX_STATES;
  const states = sql.run(
    `DELETE FROM ledger_state WHERE name IN (SELECT name FROM ledger_state WHERE at_ms < ? ORDER BY at_ms LIMIT ?)
     OR name IN (SELECT name FROM ledger_state ORDER BY at_ms LIMIT ?)`,
    [before(STATE_TTL_MS), limit, Math.min(limit, Math.max(0, surplus))],
  );
  sql.run('DELETE FROM ledger_waiting WHERE since_ms < ?', [before(WAITING_TTL_MS)]);
  return Math.max(rows, states);
}

/** As `StoreHandle.exchange`: a state that never expires. */
export function exchangeNote(sql: Statements, name: string, text: string): string | null {
  const key = noteName(name);
  const before = sql.value<string>('SELECT data FROM ledger_state WHERE name = ?', [key]) ?? null;
  sql.run(
    `INSERT INTO ledger_state (name, lineage, at_ms, version, data) VALUES (?, '', ?, 1, ?)
     ON CONFLICT (name) DO UPDATE SET data = excluded.data`,
    [key, Number.MAX_SAFE_INTEGER, text],
  );
  return before;
}
