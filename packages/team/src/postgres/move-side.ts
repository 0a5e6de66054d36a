import type { Clock } from 'mcp-pruner/core/ports.ts';
import type { MovedTable, Side, Value } from 'mcp-pruner/store/move/tables.ts';
import type { PartTables } from 'mcp-pruner/store/part-tables.ts';
import { postgresStatement } from 'mcp-pruner/store/sql/common-sql.ts';
import { sideName } from '../operate/side-name.ts';
import { shownUrl } from './connection-config.ts';
import { Database } from './database.ts';
import { fromPg, toPg } from './text.ts';

const WAIT_MS = 60_000;

/** The tables of a PostgreSQL database. @throws StoreUnavailable, or an Error about the URL */
export async function openPostgresSide(
  url: string,
  readonly: boolean,
  clock: Clock,
  parts: readonly PartTables[],
): Promise<Side> {
  const database = new Database({ url, clock, log: undefined, readonly, connections: 2, parts });
  await database.retry();
  const query = (sql: string, values: readonly unknown[] = []) =>
    database.query<Record<string, Value>>(sql, values, WAIT_MS);
  return {
    name: sideName(`postgres ${shownUrl(url)}`),
    async count({ name }) {
      const [row] = await query(`SELECT count(*) AS count FROM mcp_pruner.${name}`);
      return Number(row?.count ?? 0);
    },
    async read(table, after) {
      const places = table.key.map((_, i) => `$${i + 2}`);
      const behind = after === null ? '' : `WHERE (${table.key}) > (${places})`;
      const rows = await query(
        `SELECT ${table.columns} FROM mcp_pruner.${table.name} ${behind} ORDER BY ${table.key} LIMIT $1`,
        [table.page, ...(after ?? []).map((value, i) => escaped(table, table.key[i] ?? '', value))],
      );
      return rows.map((row) => table.columns.map((column) => unescaped(table, column, row[column] ?? null)));
    },
    async last(table) {
      const order = table.key.map((key) => `${key} DESC`);
      const [row] = await query(`SELECT ${table.key} FROM mcp_pruner.${table.name} ORDER BY ${order} LIMIT 1`);
      return row ? table.key.map((key) => unescaped(table, key, row[key] ?? null)) : null;
    },
    add: (table, rows) => addRows(database, table, rows),
    async finish() {
      for (const log of ['event', 'child_log']) await advanceLogSequence(database, log, 'seq');
      for (const log of ['served', 'left_alone']) await advanceLogSequence(database, log, 'id');
      for (const table of IDENTITIES) await advanceIdentity(database, table, 'id');
      for (const { numbered, afterMove } of parts) {
        for (const [table, column] of Object.entries(numbered)) await advanceIdentity(database, table, column);
        for (const sql of afterMove) await database.write(postgresStatement(sql), []);
      }
    },
    async origin() {
      const [row] = await query("SELECT name FROM mcp_pruner.meter WHERE name LIKE 'moved_from:%'");
      return typeof row?.name === 'string' ? row.name.slice('moved_from:'.length) : null;
    },
    async markOrigin(source) {
      await database.write('INSERT INTO mcp_pruner.meter VALUES ($1, 1) ON CONFLICT DO NOTHING', [
        `moved_from:${source}`,
      ]);
    },
    close: () => database.close(),
  };
}

async function addRows(database: Database, table: MovedTable, rows: Parameters<Side['add']>[1]): Promise<void> {
  const width = table.columns.length;
  const values = rows.map((_, i) => `(${table.columns.map((_column, j) => `$${i * width + j + 1}`)})`);
  // the maximum number of rows under the statement's parameter limit
  const most = Math.floor(60_000 / width);
  await database.transaction(async (client) => {
    for (let at = 0; at < rows.length; at += most) {
      const some = rows.slice(at, at + most);
      await client.query(
        `INSERT INTO mcp_pruner.${table.name} (${table.columns}) VALUES ${values.slice(0, some.length)} ON CONFLICT DO NOTHING`,
        some.flatMap((row) => row.map((value, j) => escaped(table, table.columns[j] ?? '', value))),
      );
    }
  }, WAIT_MS);
}

const IDENTITIES = [
  'snapshot',
  'prune',
  'decision',
  'conversation',
  'segment',
  'directive',
  'step',
  'reply',
  'sent',
  'recall',
  'compaction',
  'tool_shelf_conversation',
  'ledger_turn',
  'project_setting',
];

async function advanceIdentity(database: Database, table: string, column: string): Promise<void> {
  await database.query(
    `SELECT setval(pg_get_serial_sequence('mcp_pruner.${table}', '${column}'),
       greatest((SELECT max(${column}) FROM mcp_pruner.${table}), 1))`,
  );
}

async function advanceLogSequence(database: Database, log: string, column: string): Promise<void> {
  await database.write(
    `UPDATE mcp_pruner.log_seq SET seq = greatest(seq, (SELECT coalesce(max(${column}), 0) FROM mcp_pruner.${log})) WHERE log = $1`,
    [log],
  );
}

function escaped(table: MovedTable, column: string, value: Value): Value {
  return typeof value === 'string' && table.text.includes(column) ? toPg(value) : value;
}

function unescaped(table: MovedTable, column: string, value: Value): Value {
  return typeof value === 'string' && table.text.includes(column) ? fromPg(value) : value;
}
