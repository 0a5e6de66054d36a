import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../helpers/afterwards.ts';
import { CheckedSession, CUTTING } from '../helpers/checked-session.ts';
import { faultyWay } from '../helpers/faulty-way.ts';
import { hasPostgres, newDatabase, runSql } from '../helpers/postgres.ts';
import { startProxy } from '../helpers/proxy.ts';
import { manualClock } from '../helpers/rewriter.ts';
import { startServerProcess } from '../helpers/server-process.ts';
import { until } from '../helpers/until.ts';

const DAY_MS = 86_400_000;
const ENV = { ...CUTTING, MCP_PRUNER_DATABASE_WAIT_MS: '500', MCP_PRUNER_LOCAL_TOKEN: 'off' };

describe.skipIf(!hasPostgres)('a session whose turns go to two replicas', () => {
  it('keeps its prefix and its markers while one of them is cut off from the database', async () => {
    const database = await newDatabase();
    const way = await faultyWay(database);
    const session = await new CheckedSession().open();
    const replica = (url: string) =>
      startProxy(session.upstream, { env: { ...ENV, MCP_PRUNER_DATABASE_URL: url }, dbPath: aFile() });
    const [cut, other] = [await replica(way.url), await replica(database)];
    await session.turn(cut.url);
    way.cut();
    await session.turn(cut.url);
    await session.turn(other.url);
    await session.turn(cut.url);
    way.mend();
    await until(async () => (await (await fetch(`${cut.url}/health`)).text()).includes('"healthy"'), 15_000);
    for (const { url } of [other, cut]) await session.turn(url);
    await session.check(other.url);
  });

  it('keeps them if the clocks of the replicas step to and fro', async () => {
    const database = await newDatabase();
    const session = await new CheckedSession().open();
    const clocks = [manualClock(), manualClock()];
    const replicas = await Promise.all(
      clocks.map((clock) =>
        startProxy(session.upstream, { env: { ...ENV, MCP_PRUNER_DATABASE_URL: database }, dbPath: aFile(), clock }),
      ),
    );
    for (const [i, step] of [0, 2 * DAY_MS, -3 * DAY_MS, 5 * DAY_MS].entries()) {
      const [clock, replica] = [clocks[i % 2], replicas[i % 2]];
      if (!clock || !replica) throw new Error('no replica');
      clock.now += step;
      await session.turn(replica.url);
    }
    await session.check(replicas[0]?.url ?? '');
    expect([session.model.mismatches, session.retries]).toEqual([[], 0]);
  });

  it('is asked to retry while tables are locked, unless the replica has sent the history itself', async () => {
    const database = await newDatabase();
    const session = await new CheckedSession().open();
    const env = { ...ENV, MCP_PRUNER_DATABASE_URL: database };
    const own = await startProxy(session.upstream, { env, dbPath: aFile() });
    const other = await startProxy(session.upstream, { env, dbPath: aFile() });
    await session.turn(own.url);
    await own.stop();
    await own.start(); // its memory is empty, its file is not
    const locked = runSql(database, 'BEGIN; LOCK TABLE mcp_pruner.sent; SELECT pg_sleep(120)').catch(() => null);
    const holders = "FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted";
    await until(async () => (await runSql(database, `SELECT 1 ${holders}`)).length > 0);
    await session.turn(own.url);
    expect(session.retries).toBe(0);
    const going = session.turn(other.url);
    await until(() => session.retries > 0, 30_000);
    await runSql(database, `SELECT pg_terminate_backend(pid) ${holders}`);
    await Promise.all([locked, going]);
    expect(session.model.mismatches).toEqual([]);
    await session.turn(own.url);
    await session.check(own.url);
    const health = (await (await fetch(`${other.url}/health`)).json()) as { not_understood: Record<string, number> };
    expect(health.not_understood.asked_to_retry).toBe(session.retries);
    const metrics = await (await fetch(`${other.url}/metrics`)).text();
    expect(metrics).toMatch(/fallbacks_total\{[^}]*reason="asked_to_retry"[^}]*\} [1-9]/);
  });

  it('keeps them if one of their processes is stopped and continued', async () => {
    const database = await newDatabase();
    const session = await new CheckedSession().open();
    const start = () =>
      startServerProcess({
        env: {
          ...ENV,
          MCP_PRUNER_DATABASE_WAIT_MS: '20000', // a busy machine takes its time after SIGCONT
          MCP_PRUNER_DATABASE_URL: database,
          MCP_PRUNER_DB_PATH: aFile(),
          MCP_PRUNER_ANTHROPIC_URL: session.upstream.url,
        },
      });
    const [stopped, other] = [await start(), await start()];
    await session.turn(stopped.url);
    stopped.kill('SIGSTOP');
    await session.turn(other.url);
    await session.turn(other.url);
    stopped.kill('SIGCONT');
    await session.turn(stopped.url);
    await session.check(stopped.url);
    expect([session.model.mismatches, session.retries]).toEqual([[], 0]);
  });
});

function aFile(): string {
  return join(tempFolder(), 'store.db');
}
