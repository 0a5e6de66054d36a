import type { BoldnessStep, LedgerStore, LedgerSum, LedgerTurn } from '../../core/ports/ledger.ts';
import { LedgerLists } from '../ledger-lists.ts';
import { addedUp, MAX_SUMS_PER_DAY, MAX_TURNS, TURN_COLUMNS, TURN_FIELDS, turnRow } from '../ledger-rows.ts';
import type { Database, Queryable } from './database.ts';
import type { DatabaseParts } from './record-store.ts';
import { columnsOf, stored } from './rows.ts';
import { toPg } from './text.ts';

const WAIT_MS = 5_000;
/** Rows of one statement, below what it takes of values. */
const ROWS_AT_ONCE = 500;

/** `LedgerStore` on PostgreSQL. */
export class DatabaseLedger extends LedgerLists implements LedgerStore {
  readonly #database: Database;

  constructor({ database, rows }: DatabaseParts) {
    super(rows);
    this.#database = database;
  }

  async add(turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<void> {
    if (turns.length + sums.length === 0) return;
    await this.#database.transaction(async (client) => {
      // one writer at a time: rows of sums are then never waited for in a circle
      await client.query("SELECT pg_advisory_xact_lock(hashtext('mcp_pruner.ledger'))");
      for (let at = 0; at < turns.length; at += ROWS_AT_ONCE)
        await addTurns(client, turns.slice(at, at + ROWS_AT_ONCE));
      await addSums(client, addedUp(sums));
    }, WAIT_MS);
  }

  addStep(step: Omit<BoldnessStep, 'number'>, after: number): Promise<BoldnessStep | null> {
    const { project, tool, kind, atMs, texts, regretted } = step;
    return this.#database.transaction(async (client) => {
      await client.query("SELECT pg_advisory_xact_lock(hashtext('mcp_pruner.ledger'))");
      const [row] = await client.query<{ id: number }>(
        `INSERT INTO mcp_pruner.ledger_step (project, tool, kind, step, at_ms, texts, regretted)
         SELECT $1::text, $2::text, $3::text, $4::int, $5::bigint, $6::bigint, $7::bigint WHERE NOT EXISTS
           (SELECT 1 FROM mcp_pruner.ledger_step WHERE (project, tool, kind) = ($1, $2, $3) AND id > $8)
         RETURNING id`,
        [toPg(project), toPg(tool), toPg(kind), step.step, Math.trunc(atMs), texts, regretted, after],
      );
      return row ? { ...step, number: row.id } : null;
    }, WAIT_MS);
  }
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
  await client.query(
    `DELETE FROM mcp_pruner.ledger_turn WHERE id IN (SELECT id FROM mcp_pruner.ledger_turn
     WHERE id <= (SELECT max(id) FROM mcp_pruner.ledger_turn) - $1 ORDER BY id LIMIT $2)`,
    [MAX_TURNS, turns.length * 2],
  );
}

/** Figures that are there grow; new ones come as long as the day has room. */
async function addSums(client: Queryable, sums: readonly LedgerSum[]): Promise<void> {
  for (let at = 0; at < sums.length; at += ROWS_AT_ONCE) {
    const some = sums.slice(at, at + ROWS_AT_ONCE);
    await client.query(
      `INSERT INTO mcp_pruner.ledger_sum AS s (day, project, slice, key, field, value)
       SELECT a.* FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[])
         AS a (day, project, slice, key, field, value)
       WHERE (SELECT count(*) FROM mcp_pruner.ledger_sum t WHERE t.day = a.day) < ${MAX_SUMS_PER_DAY}
         OR EXISTS (SELECT 1 FROM mcp_pruner.ledger_sum t WHERE (t.day, t.project, t.slice, t.key, t.field)
           = (a.day, a.project, a.slice, a.key, a.field))
       ON CONFLICT (day, project, slice, key, field) DO UPDATE SET value = s.value + excluded.value`,
      columnsOf(
        some.map(({ day, project, slice, key, field, value }) => [day, project, slice, key, field, value]),
        6,
      ),
    );
  }
}
