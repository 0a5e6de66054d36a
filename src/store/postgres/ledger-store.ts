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
import { addedUp, MAX_WAITING_READ, TURN_COLUMNS, TURN_FIELDS, turnRow } from '../ledger-rows.ts';
import { folded, hasRoom, idOf, namesOf } from '../ledger-sums.ts';
import type { Database, Queryable } from './database.ts';
import type { DatabaseParts } from './database-sql.ts';
import { allOf, columnsOf, stored } from './database-sql.ts';
import { fromPg, toPg } from './text.ts';

const WAIT_MS = 5_000;
/** Rows per statement, below the limit on its parameters. */
const ROWS_AT_ONCE = 500;

/** `LedgerStore` on PostgreSQL. */
export class DatabaseLedger extends LedgerLists implements LedgerStore {
  readonly #database: Database;

  constructor({ database, rows }: DatabaseParts) {
    super(rows);
    this.#database = database;
  }

  settle(query: SettleQuery, work: SettleWork): Promise<number> {
    return this.#alone(async (client) => settleOn(client, work(await settlingOf(client, query))));
  }

  async add(turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<number> {
    return turns.length + sums.length === 0 ? 0 : this.#alone((client) => addTo(client, turns, sums));
  }

  /** One writer at a time, so that rows of sums never deadlock. */
  #alone<T>(work: (client: Queryable) => Promise<T>): Promise<T> {
    return this.#database.transaction(async (client) => {
      await client.query("SELECT pg_advisory_xact_lock(hashtext('mcp_pruner.ledger'))");
      return work(client);
    }, WAIT_MS);
  }

  addStep(step: Omit<BoldnessStep, 'number'>, after: number): Promise<BoldnessStep | null> {
    const { project, tool, kind, atMs, texts, regretted } = step;
    return this.#alone(async (client) => {
      const [row] = await client.query<{ id: number }>(
        `INSERT INTO mcp_pruner.ledger_step (project, tool, kind, step, at_ms, texts, regretted)
         SELECT $1::text, $2::text, $3::text, $4::int, $5::bigint, $6::bigint, $7::bigint WHERE NOT EXISTS
           (SELECT 1 FROM mcp_pruner.ledger_step WHERE (project, tool, kind) = ($1, $2, $3) AND id > $8)
         RETURNING id`,
        [toPg(project), toPg(tool), toPg(kind), step.step, Math.trunc(atMs), texts, regretted, after],
      );
      return row ? { ...step, number: row.id } : null;
    });
  }
}

const WAITING = 'request_id AS "requestId", since_ms AS "sinceMs", names, lineage, data';
const STATE = 's.name, s.lineage, s.at_ms AS "atMs", s.version';

/** The stored state needed to bill these requests. */
async function settlingOf(client: Queryable, query: SettleQuery): Promise<Settling> {
  const { states, lineages, requestIds, process } = query;
  const rows = await allOf<Omit<WaitingRequest, 'names'> & { readonly names: string }>(
    client,
    `SELECT ${WAITING} FROM main.ledger_waiting ORDER BY id LIMIT ${MAX_WAITING_READ}`,
    [],
  );
  const waiting = rows.map((row) => ({ ...row, names: JSON.parse(row.names) as string[] }));
  const asked = new Map([...waiting.flatMap(({ names }) => names.map((name) => [name, 0] as const)), ...states]);
  const found = await allOf<LedgerState & { readonly same: boolean }>(
    client,
    `SELECT ${STATE}, s.version = u.version AS same, CASE WHEN s.version = u.version THEN '' ELSE s.data END AS data
     FROM unnest(CAST(? AS text[]), CAST(? AS bigint[])) u (name, version) JOIN main.ledger_state s ON s.name = u.name`,
    [[...asked.keys()], [...asked.values()]],
  );
  const all = [...new Set([...lineages, ...waiting.flatMap(({ lineage }) => lineage || [])])];
  const newest = await allOf<LedgerState>(
    client,
    `SELECT DISTINCT ON (s.lineage) ${STATE}, s.data FROM main.ledger_state s
     WHERE s.lineage IN LIST(?) AND s.lineage <> '' ORDER BY s.lineage, s.at_ms DESC`,
    [all],
  );
  const seen = await allOf<{ readonly id: string }>(
    client,
    `SELECT request_id AS id FROM main.ledger_turn WHERE request_id IN LIST(?)
     UNION ALL SELECT request_id FROM main.ledger_waiting WHERE request_id IN LIST(?)`,
    [requestIds, requestIds],
  );
  const others = await allOf(
    client,
    `SELECT 1 AS one FROM main.ledger_state WHERE lineage = ? AND lineage <> '' AND name <> ? AND at_ms > ? LIMIT 1`,
    [process.lineage, process.name, process.aliveFromMs],
  );
  return {
    states: found.filter(({ same }) => !same),
    unchanged: new Set(found.filter(({ same }) => same).map(({ name }) => name)),
    newest,
    waiting,
    seen: new Set(seen.map(({ id }) => id)),
    others: others.length > 0,
  };
}

async function settleOn(client: Queryable, settled: Settled): Promise<number> {
  const { turns, sums, states, removed, waits, billed } = settled;
  if (billed.length > 0) {
    await client.query('DELETE FROM mcp_pruner.ledger_waiting WHERE request_id = ANY ($1)', [billed.map(toPg)]);
  }
  if (waits.length > 0) {
    const rows = waits.map(({ requestId, sinceMs, names, lineage, data }) => [
      requestId,
      sinceMs,
      JSON.stringify(names),
      lineage,
      data,
    ]);
    await client.query(
      `INSERT INTO mcp_pruner.ledger_waiting (request_id, since_ms, names, lineage, data)
       SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[]) ON CONFLICT DO NOTHING`,
      columnsOf(rows, 5),
    );
  }
  if (states.length > 0) {
    const rows = states.map(({ name, lineage, atMs, version, data }) => [
      name,
      lineage,
      Math.trunc(atMs),
      version,
      data,
    ]);
    await client.query(
      `INSERT INTO mcp_pruner.ledger_state AS s (name, lineage, at_ms, version, data)
       SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::text[])
       ON CONFLICT (name) DO UPDATE SET lineage = excluded.lineage, at_ms = greatest(s.at_ms, excluded.at_ms),
         version = excluded.version, data = excluded.data`,
      columnsOf(rows, 5),
    );
  }
  if (removed.length > 0) {
    await client.query('DELETE FROM mcp_pruner.ledger_state WHERE name = ANY ($1)', [removed.map(toPg)]);
  }
  return addTo(client, turns, sums);
}

/** Adds requests and figures; returns the number of folded figures. */
async function addTo(client: Queryable, turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<number> {
  for (let at = 0; at < turns.length; at += ROWS_AT_ONCE) await addTurns(client, turns.slice(at, at + ROWS_AT_ONCE));
  let moved = 0;
  for (const [day, own] of groupBy(addedUp(sums), (sum) => sum.day)) {
    const [size] = await client.query<{ count: number }>(
      "SELECT count(*) AS count FROM mcp_pruner.ledger_sum WHERE day = $1 AND slice <> 'key'",
      [day],
    );
    const count = size?.count ?? 0;
    const placed = hasRoom(count, own.length)
      ? { sums: own, folded: 0 }
      : folded(own, { count, ...(await figuresOf(client, own)) });
    await addSums(client, addedUp(placed.sums));
    moved += placed.folded;
  }
  return moved;
}

/** The existing figures among all names that these may be stored under. */
async function figuresOf(client: Queryable, sums: readonly LedgerSum[]) {
  const asked = sums.flatMap(namesOf).map(({ day, project, slice, key }) => [day, project, slice, key]);
  const rows = await client.query<{ n: number; field: string }>(
    `SELECT u.n, s.field FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY u (day, project, slice, key, n)
     JOIN mcp_pruner.ledger_sum s ON (s.day, s.project, s.slice, s.key) = (u.day, u.project, u.slice, u.key)`,
    columnsOf(asked, 4),
  );
  const partOf = (sum: Omit<LedgerSum, 'value'>): string => idOf({ ...sum, field: '', value: 0 });
  const all = sums.flatMap(namesOf);
  const known = new Set<string>();
  const parts = new Set<string>();
  for (const { n, field } of rows) {
    const sum = all[n - 1];
    if (!sum) continue;
    parts.add(partOf(sum));
    known.add(idOf({ ...sum, field: fromPg(field) }));
  }
  return { has: (sum: LedgerSum) => known.has(idOf(sum)), hasPart: (sum: LedgerSum) => parts.has(partOf(sum)) };
}

async function addTurns(client: Queryable, turns: readonly LedgerTurn[]): Promise<void> {
  const width = TURN_COLUMNS.length;
  const places = turns.map((_, i) => `(${TURN_COLUMNS.map((_column, j) => `$${i * width + j + 1}`).join(', ')})`);
  const values = turns.flatMap((turn) => {
    const row = turnRow(turn);
    return TURN_FIELDS.map((field) => stored(row[field]));
  });
  await client.query(
    `INSERT INTO mcp_pruner.ledger_turn (${TURN_COLUMNS.join(', ')}) VALUES ${places.join(', ')} ON CONFLICT DO NOTHING`,
    values,
  );
}

async function addSums(client: Queryable, sums: readonly LedgerSum[]): Promise<void> {
  for (let at = 0; at < sums.length; at += ROWS_AT_ONCE) {
    const some = sums.slice(at, at + ROWS_AT_ONCE);
    await client.query(
      `INSERT INTO mcp_pruner.ledger_sum AS s (day, project, slice, key, field, value)
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[])
       ON CONFLICT (day, project, slice, key, field) DO UPDATE SET value = s.value + excluded.value`,
      columnsOf(
        some.map(({ day, project, slice, key, field, value }) => [day, project, slice, key, field, value]),
        6,
      ),
    );
  }
}
