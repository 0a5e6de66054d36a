import type { Database } from 'better-sqlite3';
import { unbound } from './directives.ts';

/** Which projects a prune belongs to. Its statements are prepared with their first use: most stores are never asked. */
export class Owners {
  readonly #db: Database;
  #made: ReturnType<typeof prepare> | undefined;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Inside the caller's transaction. */
  add(project: string, pruneId: string): void {
    this.#statements.add.run(project, pruneId);
  }

  /** Those of the prunes that belong to one of the projects. */
  owned(projects: readonly string[], pruneIds: readonly string[]): string[] {
    return this.#statements.owned.all(JSON.stringify(pruneIds), JSON.stringify(projects));
  }

  /**
   * Takes prunes from a project, inside the caller's transaction.
   *
   * @returns those that belong to nobody now
   */
  release(project: string, pruneIds: readonly string[]): string[] {
    const { ownerOf, drop } = this.#statements;
    return pruneIds.filter((pruneId) => {
      if (ownerOf.get(pruneId) === undefined) return true;
      drop.run(project, pruneId);
      return ownerOf.get(pruneId) === undefined;
    });
  }

  /** Gives those of nobody to the projects that they were seen in, as `ProjectStore.adopt`; inside a transaction. */
  adopt(): void {
    const { adopt, adopted } = this.#statements;
    adopt.run();
    adopted.run();
  }

  get #statements(): ReturnType<typeof prepare> {
    this.#made ??= prepare(this.#db);
    return this.#made;
  }
}

function prepare(db: Database) {
  return {
    add: db.prepare<[string, string]>(
      'INSERT OR IGNORE INTO prune_owner (prune, project) SELECT id, ? FROM prune WHERE prune_id = ?',
    ),
    owned: db
      .prepare<[string, string], string>(
        `SELECT p.prune_id FROM json_each(?) asked JOIN prune p ON p.prune_id = asked.value
         WHERE EXISTS (SELECT 1 FROM prune_owner o WHERE o.prune = p.id AND o.project IN (SELECT value FROM json_each(?)))`,
      )
      .pluck(),
    ownerOf: db
      .prepare<[string], number>(
        'SELECT 1 FROM prune p JOIN prune_owner o ON o.prune = p.id WHERE p.prune_id = ? LIMIT 1',
      )
      .pluck(),
    drop: db.prepare<[string, string]>(
      'DELETE FROM prune_owner WHERE project = ? AND prune = (SELECT id FROM prune WHERE prune_id = ?)',
    ),
    adopt: db.prepare(
      `INSERT OR IGNORE INTO prune_owner (prune, project)
       WITH nobodys AS (
         SELECT p.id, p.prune_id FROM prune p
         WHERE p.id > (SELECT value FROM meter WHERE name = 'prunes_adopted')
           AND NOT EXISTS (SELECT 1 FROM prune_owner o WHERE o.prune = p.id))
       SELECT n.id, ${unbound('c.project')} FROM nobodys n JOIN charge h ON h.prune = n.id
         JOIN conversation c ON c.name = h.conversation
       UNION SELECT n.id, ${unbound('s.project')} FROM nobodys n JOIN segment_prune l ON l.prune_id = n.prune_id
         JOIN segment s ON s.id = l.segment
       UNION SELECT n.id, 'default' FROM nobodys n WHERE NOT EXISTS (SELECT 1 FROM charge h WHERE h.prune = n.id)
         AND NOT EXISTS (SELECT 1 FROM segment_prune l WHERE l.prune_id = n.prune_id)`,
    ),
    adopted: db.prepare(
      `UPDATE meter SET value = max(value, (SELECT coalesce(max(id), 0) FROM prune)) WHERE name = 'prunes_adopted'`,
    ),
  };
}
