import type { Scrubber } from 'mcp-pruner/store/erase/scrub.ts';
import { movedWith } from 'mcp-pruner/store/move/tables.ts';
import type { PartTables } from 'mcp-pruner/store/part-tables.ts';
import type { Database } from './database.ts';

/** Server files that may contain deleted bytes and that no client can search. */
const NOT_SEARCHED = [
  'the write-ahead log of the database and its archive',
  'replicas and backups of the database',
  'the log of the database, if it records statements',
  "the planner's statistics of emptied tables (pg_statistic), which only a superuser can delete",
];

/**
 * `VACUUM` frees the space of deleted rows, but their bytes remain until the space is reused. `VACUUM FULL` rewrites
 * the files, with the tables locked. `ANALYZE` replaces the planner's statistics, which quote frequent values, except
 * for empty tables.
 */
export function databaseScrubber(database: Database, parts: readonly PartTables[]): Scrubber {
  return {
    samples: () => Promise.resolve([]),
    search: () => Promise.resolve(null),
    async scrub(full) {
      const client = await database.dedicated();
      try {
        await client.query(
          `VACUUM (${full ? 'FULL, ' : ''}ANALYZE) ${movedWith(parts)
            .map(({ name }) => `mcp_pruner.${name}`)
            .join(', ')}`,
        );
      } finally {
        await client.end();
      }
      if (full) return { did: 'the tables were written anew', isDone: true, notSearched: NOT_SEARCHED };
      return {
        did: 'the space of deleted rows was freed, and not overwritten',
        isDone: false,
        remedy: 'run the command again with --vacuum-full, which locks the tables for that time',
        notSearched: ['the freed space in the files of the tables', ...NOT_SEARCHED],
      };
    },
  };
}
