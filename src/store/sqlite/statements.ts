import type { Database, Statement } from 'better-sqlite3';
import { manyRows, sqliteStatement } from '../sql/common-sql.ts';

/** Prepared statements of one connection, each prepared on first use. Few, because their texts are constant. */
export class Statements {
  readonly #db: Database;
  /** Number of the row that `each` added last. */
  lastRow = 0;
  /** For each insertion, its statement text by number of rows. */
  readonly #many = new Map<string, string[]>();
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

  /** See `Rows.all`. */
  allOf<Row>(sql: string, values: readonly unknown[] = []): Row[] {
    return this.all(sql, values.map(stored));
  }

  /** Runs a `change` step. */
  change(sql: string, values: readonly unknown[]): number {
    return this.run(sql, values.map(stored));
  }

  /** Runs an `each` step. */
  each<Row>(sql: string, rows: readonly (readonly unknown[])[]): Row[] {
    const returned: Row[] = [];
    for (let at = 0; at < rows.length; ) {
      const { count, text } = this.#atOnce(sql, rows.length - at, rows[at]?.length ?? 0);
      const values: unknown[] = [];
      for (let row = at; row < at + count; row++) {
        for (const value of rows[row] ?? []) values.push(Array.isArray(value) ? JSON.stringify(value) : value);
      }
      const statement = this.#statement(text);
      if (statement.reader) returned.push(...(statement.all(...values) as Row[]));
      else this.lastRow = Number(statement.run(...values).lastInsertRowid);
      at += count;
    }
    return returned;
  }

  /** Number of rows in the next statement, and its text. */
  #atOnce(sql: string, rows: number, columns: number): { readonly count: number; readonly text: string } {
    const most = Math.max(1, Math.min(rows, Math.floor(MOST_VALUES / columns)));
    // few sizes, so that few statements are prepared
    const count = most > EXACT_ROWS ? most - (most % EXACT_ROWS) : most;
    const texts = this.#many.get(sql) ?? [];
    this.#many.set(sql, texts);
    const text = count === 1 ? sql : (texts[count] ?? manyRows(sql, count));
    if (text === null) return { count: 1, text: sql };
    texts[count] = text;
    return { count, text };
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

  /** Rows as arrays in column order, to avoid name look-ups per row. */
  tuples<Row extends readonly unknown[]>(sql: string, values: readonly unknown[] = []): Row[] {
    return this.#statement(sql, 'raw').all(...values) as unknown[] as Row[];
  }

  /** Like `tuples`, with lists among the values. */
  tuplesOf<Row extends readonly unknown[]>(sql: string, values: readonly unknown[]): Row[] {
    return this.tuples(sql, values.map(stored));
  }

  /** @returns the number of changed rows */
  run(sql: string, values: readonly unknown[] = []): number {
    return this.#statement(sql).run(...values).changes;
  }

  /** Adds a row; returns its row number. */
  insert(sql: string, values: readonly unknown[] = []): number {
    return Number(this.#statement(sql).run(...values).lastInsertRowid);
  }

  /** Deletes expired rows of a table, earliest first, at most `limit`; returns their number. */
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

/**
 * Maximum number of values per statement. Several narrow rows at once take two thirds of the CPU of single ones; wide
 * rows (a turn has 29 columns) take up to twice as much.
 */
const MOST_VALUES = 256;
/** Up to this many rows, statements have any number of rows; beyond, multiples of it. */
const EXACT_ROWS = 8;

/** Converts a value for SQLite. */
function stored(value: unknown): unknown {
  return Array.isArray(value) ? JSON.stringify(value) : value;
}
