import type { Statements } from './statements.ts';

/** The projects that own a prune. */
export class Owners {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Inside the caller's transaction. */
  add(project: string, pruneId: string): void {
    this.#sql.run('INSERT OR IGNORE INTO prune_owner (prune, project) SELECT id, ? FROM prune WHERE prune_id = ?', [
      project,
      pruneId,
    ]);
  }

  /**
   * Removes prunes from a project, inside the caller's transaction.
   *
   * @returns those without any owner now
   */
  release(project: string, pruneIds: readonly string[]): string[] {
    return pruneIds.filter((pruneId) => {
      if (!this.#isOwned(pruneId)) return true;
      this.#sql.run('DELETE FROM prune_owner WHERE project = ? AND prune = (SELECT id FROM prune WHERE prune_id = ?)', [
        project,
        pruneId,
      ]);
      return !this.#isOwned(pruneId);
    });
  }

  #isOwned(pruneId: string): boolean {
    const owner = 'SELECT 1 FROM prune p JOIN prune_owner o ON o.prune = p.id WHERE p.prune_id = ? LIMIT 1';
    return this.#sql.value(owner, [pruneId]) !== undefined;
  }
}
