import type { Scrubber } from '../../../store/erase/scrub.ts';
import { movedWith } from '../../../store/move/tables.ts';
import type { PartTables } from '../../../store/part-tables.ts';
import type { Database } from './database.ts';

/**
 * The files of a database belong to its server. `VACUUM` frees the space of deleted rows for new ones. Their bytes
 * remain until the space is reused, and in the server's log and backups.
 */
export function databaseScrubber(database: Database, parts: readonly PartTables[]): Scrubber {
  return {
    samples: () => Promise.resolve([]),
    search: () => Promise.resolve(null),
    async scrub() {
      const client = await database.dedicated();
      try {
        await client.query(
          `VACUUM ${movedWith(parts)
            .map(({ name }) => `mcp_pruner.${name}`)
            .join(', ')}`,
        );
      } finally {
        await client.end();
      }
      return { did: 'the tables were vacuumed', isDone: true };
    },
  };
}
