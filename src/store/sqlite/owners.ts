import { unbound } from './directives.ts';
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

  /**
   * Assigns prunes without an owner to the projects where they were seen, as `ProjectStore.adopt`; inside a
   * transaction.
   */
  adopt(): void {
    this.#sql.run(
      `INSERT OR IGNORE INTO prune_owner (prune, project)
       WITH nobodys AS (
         SELECT p.id, p.prune_id FROM prune p
         WHERE p.id > (SELECT value FROM meter WHERE name = 'prunes_adopted')
           AND NOT EXISTS (SELECT 1 FROM prune_owner o WHERE o.prune = p.id))
       SELECT n.id, ${unbound('c.project')} FROM nobodys n JOIN charge h ON h.prune = n.id
         JOIN conversation c ON c.name = h.conversation
       UNION SELECT n.id, ${unbound('s.project')} FROM nobodys n JOIN segment_prune l ON l.prune_id = n.prune_id
         JOIN segment s ON s.id = l.segment
       UNION SELECT n.id, r.project FROM nobodys n JOIN recall r ON r.prune = n.id
       UNION SELECT n.id, 'default' FROM nobodys n WHERE NOT EXISTS (SELECT 1 FROM charge h WHERE h.prune = n.id)
         AND NOT EXISTS (SELECT 1 FROM recall r WHERE r.prune = n.id)
         AND NOT EXISTS (SELECT 1 FROM segment_prune l WHERE l.prune_id = n.prune_id)`,
    );
    this.#sql.run(
      `UPDATE meter SET value = max(value, (SELECT coalesce(max(id), 0) FROM prune)) WHERE name = 'prunes_adopted'`,
    );
  }
}
