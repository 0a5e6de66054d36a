import type { Client } from 'pg';

/** A PostgreSQL database that belongs to the run. */
export interface Database {
  readonly url: string;
  empty(): Promise<void>;
  /** Locks all tables against everybody for a moment, at most until the returned function is called. */
  lock(): Promise<() => Promise<void>>;
}

const SCHEMA = 'mcp_pruner';
/** Shorter than a proxy waits for a database that it needs. */
const LOCK_MS = 500;

export function databaseAt(url: string): Database {
  const connected = async (): Promise<Client> => {
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client;
  };
  return {
    url,
    async empty() {
      const client = await connected();
      try {
        await client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
      } finally {
        await client.end();
      }
    },
    async lock() {
      const client = await connected();
      const { rows } = await client.query<{ name: string }>(
        'SELECT tablename AS name FROM pg_tables WHERE schemaname = $1 ORDER BY tablename',
        [SCHEMA],
      );
      await client.query('BEGIN');
      const tables = rows.map(({ name }) => `${SCHEMA}.${client.escapeIdentifier(name)}`);
      try {
        if (tables.length > 0) await client.query(`LOCK TABLE ${tables.join(', ')} IN ACCESS EXCLUSIVE MODE`);
      } catch {
        // a deadlock, or the time limit of the server: nothing is locked this time
      }
      let ended: Promise<void> | undefined;
      const end = (): Promise<void> => {
        clearTimeout(timer);
        ended ??= client.end();
        return ended;
      };
      const timer = setTimeout(() => void end().catch(() => {}), LOCK_MS);
      return end;
    },
  };
}
