import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { migrations } from '../../src/store/sqlite/migrate.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { CheckedSession, CUTTING } from '../helpers/checked-session.ts';
import { hasPostgres, newDatabase, runSql } from '../helpers/postgres.ts';
import { startProxy } from '../helpers/proxy.ts';
import { type ServerProcess, startServerProcess } from '../helpers/server-process.ts';

const ENV = { ...CUTTING, MCP_PRUNER_LOCAL_TOKEN: 'off' };
/** `cli.js` of another version's build. */
const OTHER = process.env.MCP_PRUNER_TEST_OTHER_BUILD ?? '';
const latest = migrations.at(-1)?.version ?? 0;

const aFile = (): string => join(tempFolder(), 'store.db');

describe('a session over stores of several versions', () => {
  it('goes on after a store of an earlier schema was upgraded under it', async () => {
    const dbPath = aFile();
    writeFileSync(dbPath, gunzipSync(readFileSync(new URL('../fixtures/store-107/store.db.gz', import.meta.url))));
    const session = await new CheckedSession().open();
    const proxy = await startProxy(session.upstream, { env: ENV, dbPath });
    await session.turn(proxy.url);
    await proxy.stop();
    await proxy.start();
    await session.turn(proxy.url);
    await session.check(proxy.url);
    expect(session.model.mismatches).toEqual([]);
  });

  it('does not go on with another history on a file of a later schema: the start fails until it is gone', async () => {
    const session = await new CheckedSession().open();
    const proxy = await startProxy(session.upstream, { env: ENV, dbPath: aFile() });
    await session.turn(proxy.url);
    await proxy.stop();
    const setVersion = (version: number): void => {
      const db = new (sqliteDriver())(proxy.dbPath);
      db.pragma(`user_version = ${version}`);
      db.close();
    };
    setVersion(latest + 1);
    await expect(proxy.start()).rejects.toThrow(`schema version ${latest + 1}`);
    setVersion(latest);
    await proxy.start();
    await session.turn(proxy.url);
    await session.check(proxy.url);
    expect(session.model.mismatches).toEqual([]);
  });

  it.skipIf(!hasPostgres)('goes on at every replica while they are upgraded one by one', async () => {
    const database = await newDatabase();
    const session = await new CheckedSession().open();
    const replica = () =>
      startProxy(session.upstream, { env: { ...ENV, MCP_PRUNER_DATABASE_URL: database }, dbPath: aFile() });
    const first = await replica();
    await session.turn(first.url);
    // a later version has added something that this one need not know
    await runSql(database, `INSERT INTO mcp_pruner.schema_version VALUES (${latest + 1}, ${latest})`);
    await runSql(database, 'ALTER TABLE mcp_pruner.sent ADD COLUMN later text');
    await session.turn(first.url);
    const second = await replica();
    await session.turn(second.url);
    await session.turn(first.url);
    await session.check(second.url);
    expect([session.model.mismatches, session.retries]).toEqual([[], 0]);
    await runSql(database, `UPDATE mcp_pruner.schema_version SET works_with = version WHERE version = ${latest + 1}`);
    await expect(replica()).rejects.toThrow(`schema version ${latest + 1}`);
  });
});

const stores = [
  { on: 'a file', runs: true, open: async () => ({ MCP_PRUNER_DB_PATH: aFile() }) },
  {
    on: 'PostgreSQL',
    runs: hasPostgres,
    open: async () => ({ MCP_PRUNER_DB_PATH: aFile(), MCP_PRUNER_DATABASE_URL: await emptyServer() }),
  },
];

/** A database without any schema; new ones of the tests have the present one. */
async function emptyServer(): Promise<string> {
  const url = await newDatabase();
  await runSql(url, 'DROP SCHEMA IF EXISTS mcp_pruner CASCADE');
  return url;
}

describe.skipIf(OTHER === '')('a session that changes between this version and MCP_PRUNER_TEST_OTHER_BUILD', () => {
  const cases = stores.flatMap((store) => [
    { ...store, way: 'up', programs: [OTHER, undefined] },
    { ...store, way: 'down', programs: [undefined, OTHER] },
    { ...store, way: 'up and down and up', programs: [OTHER, undefined, OTHER, undefined] },
  ]);

  it.each(cases)('goes on $way on $on, or the program does not start on a later store', async ({ runs, ...how }) => {
    if (!runs) return;
    const session = await new CheckedSession().open();
    const env = { ...ENV, ...(await how.open()), MCP_PRUNER_ANTHROPIC_URL: session.upstream.url };
    for (const program of how.programs) {
      const server = await started(env, program);
      if (server === null) continue;
      await session.turn(server.url);
      await session.turn(server.url);
      await session.check(server.url);
      server.kill('SIGTERM');
      await server.ended();
    }
    expect(session.model.mismatches).toEqual([]);
  });
});

/**
 * A server of a version; `null` if it cannot use the store of a later one. Versions of before that was refused at the
 * start forward everything whole then, so they get no turn.
 */
async function started(env: Readonly<Record<string, string>>, program?: string): Promise<ServerProcess | null> {
  try {
    const server = await startServerProcess({ env, ...(program !== undefined && { program }) });
    const health = (await (await fetch(`${server.url}/health`)).json()) as { readonly store?: string };
    return program !== undefined && health.store === 'newer_schema' ? null : server;
  } catch (cause) {
    expect(String(cause)).toMatch(/schema version \d+.*supports versions up to \d+/);
    return null;
  }
}
