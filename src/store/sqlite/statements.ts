import type { Database, Statement } from 'better-sqlite3';

/** Statements of one connection, each prepared with its first use. Their texts are constant, hence few. */
export class Statements {
  readonly #db: Database;
  readonly #spell: (sql: string) => string;
  readonly #prepared = new Map<string, Statement>();

  /** @param spell - the statement as SQLite takes it */
  constructor(db: Database, spell: (sql: string) => string) {
    this.#db = db;
    this.#spell = spell;
  }

  all(sql: string, ...values: unknown[]): unknown[] {
    return this.#statement(sql).all(...values);
  }

  /** @returns how many rows it changed */
  run(sql: string, ...values: unknown[]): number {
    return this.#statement(sql).run(...values).changes;
  }

  #statement(sql: string): Statement {
    const known = this.#prepared.get(sql);
    if (known) return known;
    const statement = this.#db.prepare(this.#spell(sql));
    this.#prepared.set(sql, statement);
    return statement;
  }
}
