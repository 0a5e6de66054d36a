import type { Database, Statement } from 'better-sqlite3';
import { sqliteStatement } from '../sql/common-sql.ts';

/** Prepared statements of one connection, each prepared on first use. Their texts are constant, hence few. */
export class Statements {
  readonly #db: Database;
  readonly #prepared = {
    rows: new Map<string, Statement>(),
    pluck: new Map<string, Statement>(),
    raw: new Map<string, Statement>(),
  };

  constructor(db: Database) {
    this.#db = db;
  }

  all<Row>(sql: string, values: readonly unknown[] = []): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  /** As `Rows.all`. */
  allOf<Row>(sql: string, values: readonly unknown[] = []): Row[] {
    return this.all(sql, values.map(stored));
  }

  /** A step `change`. */
  change(sql: string, values: readonly unknown[]): number {
    return this.run(sql, values.map(stored));
  }

  /** A step `each`. */
  each<Row>(sql: string, rows: readonly (readonly unknown[])[]): Row[] {
    const statement = this.#statement(sql);
    if (statement.reader) return rows.flatMap((row) => statement.all(...row.map(stored)) as Row[]);
    for (const row of rows) statement.run(...row.map(stored));
    return [];
  }

  get<Row>(sql: string, values: readonly unknown[] = []): Row | undefined {
    return this.#statement(sql).get(...values) as Row | undefined;
  }

  /** The first column of every row. */
  column<Value>(sql: string, values: readonly unknown[] = []): Value[] {
    return this.#statement(sql, 'pluck').all(...values) as Value[];
  }

  /** The first column of the first row. */
  value<Value = number>(sql: string, values: readonly unknown[] = []): Value | undefined {
    return this.#statement(sql, 'pluck').get(...values) as Value | undefined;
  }

  /** Rows as arrays in column order: names would be looked up for each row. */
  tuples<Row extends readonly unknown[]>(sql: string, values: readonly unknown[] = []): Row[] {
    return this.#statement(sql, 'raw').all(...values) as unknown[] as Row[];
  }

  /** @returns the number of changed rows */
  run(sql: string, values: readonly unknown[] = []): number {
    return this.#statement(sql).run(...values).changes;
  }

  /** Adds a row; returns its row number. */
  insert(sql: string, values: readonly unknown[] = []): number {
    return Number(this.#statement(sql).run(...values).lastInsertRowid);
  }

  /** Deletes expired rows of a table, earliest expiry first, at most `limit`; returns their number. */
  expire(table: 'served' | 'left_alone' | 'sent' | 'reply', nowMs: number, limit: number): number {
    return this.run(
      `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE expires_ms <= ? ORDER BY expires_ms LIMIT ?)`,
      [nowMs, limit],
    );
  }

  #statement(sql: string, mode: 'rows' | 'pluck' | 'raw' = 'rows'): Statement {
    const known = this.#prepared[mode].get(sql);
    if (known) return known;
    const statement = this.#db.prepare(sqliteStatement(sql));
    if (mode !== 'rows') statement[mode]();
    this.#prepared[mode].set(sql, statement);
    return statement;
  }
}

/** A value as SQLite takes it. */
function stored(value: unknown): unknown {
  return Array.isArray(value) ? JSON.stringify(value) : value;
}
