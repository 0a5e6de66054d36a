import type { Clock } from '../../core/ports.ts';
import type { Expiring, PendingUses } from '../pending-uses.ts';
import type { Rows } from '../rows.ts';
import type { Database, Queryable } from './database.ts';
import { fromPg, toPg } from './text.ts';

/** `Rows` of a database. */
export class DatabaseRows implements Rows {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #uses: PendingUses;

  constructor(database: Database, clock: Clock, uses: PendingUses) {
    this.#database = database;
    this.#clock = clock;
    this.#uses = uses;
  }

  all<Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return allOf(this.#database, sql, values);
  }

  nowMs(): number {
    return Math.trunc(this.#clock.nowMs());
  }

  expiry(kind: Expiring, id: string, storedMs: number): number {
    return this.#uses.expiry(kind, id, storedMs);
  }
}

/** The rows of a statement as of `Rows`, with their texts restored. */
export async function allOf<Row>(client: Queryable, sql: string, values: readonly unknown[]): Promise<Row[]> {
  const rows = await client.query<Record<string, unknown>>(spelled(sql), values.map(stored));
  for (const row of rows) {
    for (const name of Object.keys(row)) {
      const value = row[name];
      if (typeof value === 'string') row[name] = fromPg(value);
    }
  }
  return rows as Row[];
}

/** Executes a change as of `Rows`; returns the number of changed rows. */
export async function changeOf(client: Queryable, sql: string, values: readonly unknown[]): Promise<number> {
  const counted = `WITH changed AS (${spelled(sql)} RETURNING 1) SELECT count(*) AS changes FROM changed`;
  const [row] = await client.query<{ changes: number }>(counted, values.map(stored));
  return row?.changes ?? 0;
}

/** Transposes rows to columns for `unnest`. @param width - number of columns */
export function columnsOf(rows: readonly (readonly unknown[])[], width: number): unknown[][] {
  return Array.from({ length: width }, (_, i) => rows.map((row) => stored(row[i])));
}

/** A value as PostgreSQL holds it. */
export function stored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stored);
  return typeof value === 'string' ? toPg(value) : value;
}

/** Translated statements; their texts are constant, hence few. */
const spellings = new Map<string, string>();

function spelled(sql: string): string {
  const known = spellings.get(sql);
  if (known !== undefined) return known;
  let values = 0;
  const text = sql
    .replace(/\bIN LIST\(\?\)/g, '= ANY (?)')
    .replace(/\bmain\.|\b(?=fleet_)/g, 'mcp_pruner.')
    .replace(/\bCOLLATE BINARY\b/g, 'COLLATE "C"')
    .replace(/\?/g, () => `$${++values}`);
  spellings.set(sql, text);
  return text;
}
