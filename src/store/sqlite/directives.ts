import type { Statements } from './statements.ts';

/** Beyond this the oldest are deleted. */
const MAX_DIRECTIVES = 50_000;

/** The bounds of directives. */
export class DirectiveTable {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Deletes the oldest directives beyond the bound; returns how many. */
  trim(count: number, limit: number): number {
    this.#sql.run(
      `DELETE FROM directive_generation
       WHERE NOT EXISTS (SELECT 1 FROM directive d WHERE d.project = directive_generation.project)
       AND generation < (SELECT value FROM meter WHERE name = 'directive_generation') - 1000`,
    );
    if (count <= MAX_DIRECTIVES) return 0;
    return this.#sql.run('DELETE FROM directive WHERE id IN (SELECT id FROM directive ORDER BY id LIMIT ?)', [
      Math.min(count - MAX_DIRECTIVES, limit),
    ]);
  }

  /** Deletes the steps of a removed conversation. */
  dropSteps(conversation: number): void {
    this.#sql.run(
      `DELETE FROM directive WHERE id IN (
         SELECT d.id FROM step t JOIN directive d ON d.project = t.project AND d.scope = t.scope WHERE t.id IN (${STEPS_IN}))`,
      [conversation],
    );
    this.#sql.run(`DELETE FROM step WHERE id IN (${STEPS_IN})`, [conversation]);
  }
}

const STEPS_IN = `SELECT t.id FROM step t JOIN conversation c ON c.project = t.project AND c.name = t.conversation
  WHERE c.id = ?`;
