import type { MovedTable } from '../move/tables.ts';
import type { Rows } from '../sql/steps.ts';

/** Values that identify erased data in any table. */
export interface Traces {
  /**
   * Names of conversations, prune ids, decision keys, hashes of texts, ids of child agents. Names shared with
   * conversations of other projects are excluded.
   */
  readonly ids: ReadonlySet<string>;
  /** Projects whose rows may have traces. */
  readonly within: ReadonlySet<string>;
  /** Name of the project if all of it is erased, otherwise `null`. */
  readonly project: string | null;
  /** Id of a key, or `user:` and the name of a signed-in user. */
  readonly payer: string | null;
}

type Cell = string | number | Uint8Array | null;
type Row = Readonly<Record<string, Cell>>;

const WORD = /\w{8,}/g;
/**
 * Columns that are not searched: `data` (originals are found by hash, ledger states by name) and authors of settings,
 * which are configuration.
 */
const UNREAD: readonly string[] = ['data', 'author'];
const CONFIGURATION = new Set(['access_key', 'project_setting']);

/** Number of rows with a trace, per table. */
export interface Found {
  readonly byTable: ReadonlyMap<string, number>;
  readonly tables: number;
  readonly rows: number;
}

/** Reads all rows of the store, and counts rows with a trace. */
export async function findTraces(rows: Rows, tables: readonly MovedTable[], traces: Traces): Promise<Found> {
  const byTable = new Map<string, number>();
  let read = 0;
  for (const { name, key, columns, page } of tables) {
    const selected = columns.filter((column) => !UNREAD.includes(column));
    const isApart = CONFIGURATION.has(name);
    let found = 0;
    let after: readonly Cell[] | null = null;
    for (;;) {
      const from: string = after === null ? '' : `WHERE (${key.join(', ')}) > (${key.map(() => '?').join(', ')})`;
      const sql = `SELECT ${selected.join(', ')} FROM main.${name} ${from} ORDER BY ${key.join(', ')} LIMIT ${Math.max(page, 100)}`;
      const some: Row[] = await rows.all<Row>(sql, after ?? []);
      read += some.length;
      if (!isApart) found += some.filter((row) => hasTrace(name, row, traces)).length;
      const last = some.at(-1);
      if (!last || some.length < Math.max(page, 100)) break;
      after = key.map((column) => last[column] ?? null);
    }
    if (found > 0) byTable.set(name, found);
  }
  return { byTable, tables: tables.length, rows: read };
}

/** Whether a row names the project or the payer, or contains one of the ids. */
export function hasTrace(table: string, row: Row, { ids, within, project, payer }: Traces): boolean {
  if (payer === null && typeof row.project === 'string' && !within.has(firstLine(row.project))) return false;
  for (const [column, cell] of Object.entries(row)) {
    if (typeof cell !== 'string' || cell === '') continue;
    if (ids.has(cell) || (cell.match(WORD) ?? []).some((word) => ids.has(word))) return true;
    if (project !== null && namesProject(table, column, cell, project)) return true;
    if (payer !== null && namesPayer(table, column, cell, payer)) return true;
  }
  return false;
}

function namesProject(table: string, column: string, cell: string, project: string): boolean {
  if (column === 'project') return firstLine(cell) === project;
  if (column === 'payload' || column === 'data') return cell.includes(`"project":${JSON.stringify(project)}`);
  if (table === 'ledger_state' && column === 'name') return cell.startsWith(`conversation\n${project}\n`);
  if (table === 'ledger_waiting' && column === 'names') return cell.includes(`"conversation\\n${escaped(project)}\\n`);
  return table === 'reply' && column === 'key' && cell.startsWith(`${project}\n`);
}

/** A text as it appears inside a JSON string. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function namesPayer(table: string, column: string, cell: string, payer: string): boolean {
  if (column === 'key_id') return cell === payer;
  if (table === 'ledger_sum' || table.startsWith('key_')) return column === 'key' && cell === payer;
  return column === 'payload' && cell.includes(JSON.stringify(payer));
}

function firstLine(text: string): string {
  const [line = ''] = text.split('\n', 1);
  return line;
}
