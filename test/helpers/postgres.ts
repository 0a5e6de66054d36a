import pg from 'pg';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Asks for the PostgreSQL of this run, which starts when the first test wants it; `''`: there is none here. */
    postgresStarter: string;
  }
}

let url: Promise<string> | undefined;
let databases = 0;

/** Whether this machine has a PostgreSQL for the tests. Where it has none, the suites on it are left out. */
export const hasPostgres = inject('postgresStarter') !== '';

/** The PostgreSQL of this run: one for all test files. */
async function serverUrl(): Promise<string> {
  const answer = await fetch(inject('postgresStarter'));
  if (!answer.ok) throw new Error(`no PostgreSQL: ${await answer.text()}`);
  return answer.text();
}

/** Makes an empty database. @returns its URL */
export async function newDatabase(): Promise<string> {
  url ??= serverUrl();
  const server = await url;
  const name = `t_${process.pid}_${process.env.VITEST_POOL_ID ?? '0'}_${Date.now().toString(36)}_${databases++}`;
  await runSql(server, `CREATE DATABASE ${name}`);
  return server.replace('/postgres?', `/${name}?`);
}

const KEPT = "('schema_version', 'meter', 'log_seq', 'meter_delta', 'fleet_counter')";
const EMPTY = `DO $$ DECLARE t text; BEGIN
   IF to_regclass('mcp_pruner.meter') IS NULL THEN RETURN; END IF;
   SET LOCAL session_replication_role = replica;
   FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'mcp_pruner' AND tablename NOT IN ${KEPT} LOOP
     EXECUTE 'DELETE FROM mcp_pruner.' || t;
   END LOOP;
   DELETE FROM mcp_pruner.meter_delta;
   DELETE FROM mcp_pruner.meter WHERE name LIKE 'moved_from:%';
   UPDATE mcp_pruner.meter SET value = 0;
   IF to_regclass('mcp_pruner.fleet_counter') IS NOT NULL THEN -- a table of a part, created with the part
     UPDATE mcp_pruner.fleet_counter SET value = 0;
   END IF;
   UPDATE mcp_pruner.log_seq SET seq = 0;
 END $$`;

/** Makes the store in a database as empty as a new one, in a fraction of the time. */
export async function emptyDatabase(url: string): Promise<void> {
  await runSql(url, EMPTY);
}

/** A database of the test file, empty at each call. */
export function sharedDatabase(): () => Promise<string> {
  let made: Promise<string> | undefined;
  // stays open: for a new connection, the server starts a process that reads the catalogue first
  let client: pg.Client | undefined;
  return async () => {
    made ??= newDatabase();
    const url = await made;
    if (client === undefined) {
      const opened = await connect(url);
      (opened as { unref?(): void }).unref?.(); // it holds no process
      client = opened;
      client.once('end', () => {
        client = undefined;
      });
    }
    await client.query(EMPTY);
    return url;
  };
}

/** Runs SQL as an outsider would. */
export async function runSql<Row>(url: string, sql: string, values: readonly unknown[] = []): Promise<Row[]> {
  const client = await connect(url);
  try {
    return (await client.query(sql, [...values])).rows as Row[];
  } finally {
    await client.end();
  }
}

async function connect(url: string): Promise<pg.Client> {
  const parsed = new URL(url.replace('postgres://pruner@/', 'postgres://pruner@localhost/'));
  const client = new pg.Client({
    host: parsed.searchParams.get('host') ?? 'localhost',
    user: 'pruner',
    database: parsed.pathname.slice(1),
  });
  client.on('error', () => undefined); // the next query fails
  await client.connect();
  return client;
}
