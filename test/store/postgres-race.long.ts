import { describe, expect, it } from 'vitest';
import { race } from '../../bench/team/race.ts';
import { compiled } from '../helpers/built.ts';
import { faultyWay } from '../helpers/faulty-way.ts';
import { hasPostgres, newDatabase, runSql } from '../helpers/postgres.ts';

describe.skipIf(!hasPostgres)('three servers on one database', () => {
  it('send the same bytes and lose nothing while they are killed and the database is away twice', async () => {
    const url = await newDatabase();
    const way = await faultyWay(url);
    process.env.MCP_PRUNER_BENCH_ROOT = compiled('..');
    const { passed, says } = await race(
      { seed: 1, replicas: 3, conversations: 16, turns: 3, atOnce: 8, killEveryMs: 1_500 },
      {
        url: way.url,
        query: (sql) => runSql(url, sql),
        restart: async () => {
          way.cut();
          await new Promise((resolve) => setTimeout(resolve, 200));
          way.mend();
        },
      },
    );
    expect(passed, says).toBe(true);
  });
});
