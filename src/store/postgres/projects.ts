import type { ProjectStore } from '../../core/ports/projects.ts';
import { ProjectLists } from '../project-lists.ts';
import type { Database } from './database.ts';
import type { DatabaseParts } from './record-store.ts';
import { toPg } from './text.ts';

/** Adoption reads all prunes without an owner, once. */
const ADOPT_WAIT_MS = 60_000;

/** `ProjectStore` on PostgreSQL. */
export class DatabaseProjects extends ProjectLists implements ProjectStore {
  readonly #database: Database;

  constructor({ database, rows }: DatabaseParts) {
    super(rows);
    this.#database = database;
  }

  async claim(project: string, pruneIds: readonly string[]): Promise<void> {
    if (pruneIds.length === 0) return;
    await this.#database.write(
      `INSERT INTO mcp_pruner.prune_owner (prune, project)
       SELECT id, $1 FROM mcp_pruner.prune WHERE prune_id = ANY ($2) ORDER BY id ON CONFLICT DO NOTHING`,
      [toPg(project), pruneIds.map(toPg)],
    );
  }

  async adopt(): Promise<void> {
    await this.#database.transaction(async (client) => {
      await client.query("SELECT 1 FROM mcp_pruner.meter WHERE name = 'prunes_adopted' FOR UPDATE"); // one process at a time
      await client.query(ADOPT);
      await client.query(
        `UPDATE mcp_pruner.meter SET value = greatest(value, (SELECT coalesce(max(id), 0) FROM mcp_pruner.prune))
         WHERE name = 'prunes_adopted'`,
      );
    }, ADOPT_WAIT_MS);
  }
}

/** Conversations of history-bound wires have a project suffix after a line break. */
const ADOPT = `
  WITH nobodys AS (
    SELECT p.id, p.prune_id FROM mcp_pruner.prune p
    WHERE p.id > (SELECT value FROM mcp_pruner.meter WHERE name = 'prunes_adopted')
      AND NOT EXISTS (SELECT 1 FROM mcp_pruner.prune_owner o WHERE o.prune = p.id))
  INSERT INTO mcp_pruner.prune_owner (prune, project)
  SELECT n.id, split_part(c.project, chr(10), 1) FROM nobodys n JOIN mcp_pruner.charge h ON h.prune = n.id
    JOIN mcp_pruner.conversation c ON c.name = h.conversation
  UNION SELECT n.id, split_part(s.project, chr(10), 1) FROM nobodys n
    JOIN mcp_pruner.segment_prune l ON l.prune_id = n.prune_id JOIN mcp_pruner.segment s ON s.id = l.segment
  UNION SELECT n.id, r.project FROM nobodys n JOIN mcp_pruner.recall r ON r.prune = n.id
  UNION SELECT n.id, 'default' FROM nobodys n
    WHERE NOT EXISTS (SELECT 1 FROM mcp_pruner.charge h WHERE h.prune = n.id)
      AND NOT EXISTS (SELECT 1 FROM mcp_pruner.recall r WHERE r.prune = n.id)
      AND NOT EXISTS (SELECT 1 FROM mcp_pruner.segment_prune l WHERE l.prune_id = n.prune_id)
  ON CONFLICT DO NOTHING`;
