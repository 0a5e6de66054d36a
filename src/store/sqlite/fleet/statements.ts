import type { Database, Statement } from 'better-sqlite3';

/** Statements of one connection, each prepared with its first use. Their texts are constant, hence few. */
export class Statements {
  readonly #db: Database;
  readonly #prepared = new Map<string, Statement>();

  constructor(db: Database) {
    this.#db = db;
  }

  one<Row>(sql: string, ...values: unknown[]): Row | null {
    return (this.#statement(sql).get(...values) as Row | undefined) ?? null;
  }

  all<Row>(sql: string, ...values: unknown[]): Row[] {
    return this.#statement(sql).all(...values) as Row[];
  }

  /** @returns how many rows it changed */
  run(sql: string, ...values: unknown[]): number {
    return this.#statement(sql).run(...values).changes;
  }

  /** The number in the first column, as `value`; 0 where there is no row. */
  number(sql: string, ...values: unknown[]): number {
    return this.one<{ readonly value: number }>(sql, ...values)?.value ?? 0;
  }

  #statement(sql: string): Statement {
    const known = this.#prepared.get(sql);
    if (known) return known;
    const statement = this.#db.prepare(sql);
    this.#prepared.set(sql, statement);
    return statement;
  }
}
