import { join } from 'node:path';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { tempFolder } from '../helpers/afterwards.ts';
import { CheckedSession, CUTTING } from '../helpers/checked-session.ts';
import { faultyWay } from '../helpers/faulty-way.ts';
import { findPostgres, PostgresServer } from '../helpers/postgres-server.ts';
import { startProxy } from '../helpers/proxy.ts';
import { until } from '../helpers/until.ts';

const programs = findPostgres();
const ENV = { ...CUTTING, MCP_PRUNER_LOCAL_TOKEN: 'off', MCP_PRUNER_DATABASE_WAIT_MS: '1000' };

describe.skipIf(programs === null)('two replicas on a database of their own', () => {
  let server: PostgresServer;

  beforeAll(async () => {
    if (programs === null) return;
    server = new PostgresServer(programs);
    server.init();
    await server.start();
  });
  afterAll(async () => {
    await server.stop('SIGQUIT');
    server.remove();
  });

  const replicas = async (url: string, session: CheckedSession) =>
    Promise.all(
      [0, 1].map(() =>
        startProxy(session.upstream, {
          env: { ...ENV, MCP_PRUNER_DATABASE_URL: url },
          dbPath: join(tempFolder(), 'store.db'),
        }),
      ),
    );

  it('keep prefixes and markers while the database is stopped and continued', async () => {
    const session = await new CheckedSession().open();
    const way = await faultyWay(server.url());
    const [one, two] = await replicas(way.url, session);
    if (!one || !two) throw new Error('no replicas');
    await session.turn(one.url);
    await session.turn(two.url);
    const pid = server.pid ?? 0;
    process.kill(-pid, 'SIGSTOP'); // its connections stay open, and nobody answers
    try {
      await session.turn(two.url);
    } finally {
      process.kill(-pid, 'SIGCONT');
    }
    await until(async () => (await (await fetch(`${two.url}/health`)).text()).includes('"healthy"'), 30_000);
    await session.turn(two.url);
    await session.turn(one.url);
    await session.check(one.url);
  });

  it.each(['the replica that sent them', 'the other one'])(
    'keep prefixes after a failover to a standby that lacks the last turns, of which %s goes on',
    async (next) => {
      if (programs === null) return;
      const session = await new CheckedSession().open();
      const way = await faultyWay(server.url());
      const [one, two] = await replicas(way.url, session);
      if (!one || !two) throw new Error('no replicas');
      await session.turn(one.url);
      await session.turn(two.url);
      // the standby has everything up to here: a copy of the data, taken while nothing writes
      way.cut();
      await server.stop();
      const standby = new PostgresServer(programs);
      standby.adopt(server);
      await server.start();
      way.mend();
      const isHealthy = async (url: string) => (await (await fetch(`${url}/health`)).text()).includes('"healthy"');
      await until(() => isHealthy(one.url), 30_000);
      await session.turn(one.url);
      await session.turn(one.url);
      way.cut();
      await server.stop('SIGQUIT');
      await standby.start();
      const before = server;
      server = standby;
      before.remove();
      way.lead(standby.url());
      way.mend();
      await until(async () => (await isHealthy(one.url)) && (await isHealthy(two.url)), 30_000);
      // the replica that sent the lost turns repeats them; at the other one the provider refuses them whole once
      const order = next === 'the other one' ? [two, one] : [one, two];
      for (const { url } of order) await session.turn(url);
      await session.check(two.url);
    },
  );
});
