import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { findPostgres, PostgresServer } from '../../test/helpers/postgres-server.ts';
import { pause } from '../soak/chance.ts';
import { withPooler } from './pooler.ts';
import { revocation } from './revocation.ts';
import type { Trial } from './trials.ts';
import { sql, withPostgres } from './trials.ts';
import { turnsMore, underLoad } from './under-load.ts';
import { Way } from './way.ts';

/** Trials with a way to the database that can be cut. */
function withWay<T>(postgres: PostgresServer, run: (way: Way, url: string) => Promise<T>): Promise<T> {
  const way = new Way(postgres.folder);
  return way.open().then((url) => run(way, url).finally(() => way.close()));
}

function outsider(postgres: PostgresServer): pg.Client {
  const client = new pg.Client({ host: postgres.folder, user: 'pruner', database: 'postgres' });
  client.on('error', () => undefined); // its query fails
  return client;
}

/** A replica is killed while its commit waits in the database, and another one while it streams. */
const killed: Trial = ({ seed }) =>
  withPostgres((postgres) =>
    underLoad({ seed, url: postgres.url() }, async (stage) => {
      for (let round = 0; round < 3; round++) {
        const holder = outsider(postgres);
        await holder.connect();
        await holder.query('BEGIN; LOCK TABLE mcp_pruner.prune IN SHARE MODE');
        await commitsWaiting(postgres);
        await stage.team.kill(round % 3);
        await holder.query('COMMIT');
        await holder.end();
        await stage.team.start(round % 3);
        await turnsMore(stage, 20);
        await stage.team.kill((round + 1) % 3); // a third of the agents are in a stream at any time
        await stage.team.start((round + 1) % 3);
        await turnsMore(stage, 20);
      }
      return '3 killed with a commit in the database, 3 in mid-stream';
    }),
  );

async function commitsWaiting(postgres: PostgresServer): Promise<void> {
  for (;;) {
    const rows = await sql(
      postgres,
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%commit_%'",
    );
    if (rows.length > 0) return;
    await pause(5);
  }
}

/** The first of two, with its replication, crashes; the second one is promoted and takes over its address. */
const failover: Trial = async ({ seed }) => {
  const programs = findPostgres();
  if (programs === null) throw new Error('PostgreSQL is missing');
  const first = new PostgresServer(programs, { settings: ['synchronous_commit=remote_write'] });
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-pg-'));
  const second = new PostgresServer(
    programs,
    { settings: [`primary_conninfo=host=${first.folder} user=pruner application_name=second`, 'hot_standby=on'] },
    folder,
  );
  try {
    first.init();
    const { uid, gid } = statSync(join(first.folder, 'data'));
    chmodSync(folder, 0o755);
    cpSync(join(first.folder, 'data'), join(folder, 'data'), { recursive: true });
    writeFileSync(join(folder, 'data', 'standby.signal'), '');
    execFileSync('chown', ['-R', `${uid}:${gid}`, folder]);
    chmodSync(join(folder, 'data'), 0o700);
    await first.start();
    await second.start();
    await sql(first, "ALTER SYSTEM SET synchronous_standby_names = 'second'");
    await sql(first, 'SELECT pg_reload_conf()');
    return await withWay(first, (way, url) =>
      underLoad({ seed, url }, async (stage) => {
        const [state] = await sql<{ sync_state: string }>(first, 'SELECT sync_state FROM pg_stat_replication');
        way.cut();
        await first.stop('SIGQUIT');
        await sql(second, 'SELECT pg_promote()');
        way.mend(folder);
        await turnsMore(stage, 100);
        return `failed over from one that replicated (${state?.sync_state}) to the one that was promoted`;
      }),
    );
  } finally {
    await first.stop();
    await second.stop();
    first.remove();
    second.remove();
  }
};

const readonly: Trial = ({ seed }) =>
  withPostgres((postgres) =>
    underLoad({ seed, url: postgres.url() }, async (stage) => {
      await sql(postgres, 'ALTER SYSTEM SET default_transaction_read_only = on');
      await sql(postgres, 'SELECT pg_reload_conf()');
      await turnsMore(stage, 60);
      await sql(postgres, 'BEGIN READ WRITE; ALTER SYSTEM RESET default_transaction_read_only; COMMIT').catch(() =>
        sql(postgres, 'ALTER SYSTEM RESET default_transaction_read_only'),
      );
      await sql(postgres, 'SELECT pg_reload_conf()');
      await turnsMore(stage, 60);
      return 'read-only for 60 turns';
    }),
  );

const DISK = '200m';

/** The database on a disk of its own (a tmpfs, so that only root can run this), which somebody fills. */
const diskFull: Trial = async ({ seed }) => {
  const programs = findPostgres();
  if (programs === null) throw new Error('PostgreSQL is missing');
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-pg-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK},mode=755`, 'tmpfs', folder]);
  const postgres = new PostgresServer(programs, { settings: ['max_wal_size=64MB', 'wal_recycle=off'] }, folder);
  try {
    postgres.init();
    await postgres.start();
    return await underLoad({ seed, url: postgres.url(), mayChange: true }, async (stage) => {
      await fill(join(folder, 'filler'));
      await turnsMore(stage, 150);
      const diedOfIt = !(await isThere(postgres));
      rmSync(join(folder, 'filler'));
      if (diedOfIt) {
        await postgres.stop('SIGQUIT');
        await postgres.start();
      }
      await turnsMore(stage, 60);
      return `disk full for 150 turns${diedOfIt ? ', of which PostgreSQL died; started again' : ''}`;
    });
  } finally {
    await postgres.stop();
    execFileSync('umount', ['-l', folder]);
    postgres.remove();
  }
};

async function fill(file: string): Promise<void> {
  const child = spawn('dd', ['if=/dev/zero', `of=${file}`, 'bs=64k'], { stdio: 'ignore' });
  await once(child, 'exit');
}

async function isThere(postgres: PostgresServer): Promise<boolean> {
  return sql(postgres, 'SELECT 1').then(
    () => true,
    () => false,
  );
}

const TAKEN_MS = 15_000;

/** Somebody else takes all connections that the database gives, those of the replicas are ended, and none is left. */
const connections: Trial = ({ seed }) =>
  withPostgres(
    (postgres) =>
      underLoad({ seed, url: postgres.url().replace('pruner@', 'agents@') }, async (stage) => {
        const hogs: pg.Client[] = [];
        const hog = async (): Promise<void> => {
          for (;;) {
            const client = new pg.Client({ host: postgres.folder, user: 'others', database: 'postgres' });
            client.on('error', () => undefined); // ended with the others
            try {
              await client.connect();
            } catch {
              return;
            }
            hogs.push(client);
          }
        };
        await hog();
        await turnsMore(stage, 60); // with the connections they have
        await sql(postgres, 'ALTER ROLE agents CONNECTION LIMIT 0');
        const ended = await sql(
          postgres,
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'agents'",
        );
        while ((await sql(postgres, "SELECT 1 FROM pg_stat_activity WHERE usename = 'agents'")).length > 0)
          await pause(5);
        await hog();
        await sql(postgres, 'ALTER ROLE agents CONNECTION LIMIT -1');
        const before = stage.turnsDone();
        await pause(TAKEN_MS);
        const without = stage.turnsDone() - before;
        for (const client of hogs) await client.end();
        await turnsMore(stage, 60);
        return `${hogs.length} connections taken by another, ${ended.length} of the replicas ended, ${without} turns in ${TAKEN_MS / 1_000} s without any`;
      }),
    ['max_connections=40'],
    async (postgres) => {
      await sql(
        postgres,
        'CREATE ROLE agents LOGIN; CREATE ROLE others LOGIN; GRANT CREATE ON DATABASE postgres TO agents',
      );
    },
  );

const CUT_MS = 30_000;

const cut: Trial = ({ seed }) =>
  withPostgres((postgres) =>
    withWay(postgres, (way, url) =>
      underLoad({ seed, url }, async (stage) => {
        way.silence();
        const before = stage.turnsDone();
        await pause(CUT_MS);
        const without = stage.turnsDone() - before;
        way.mend();
        const backMs = performance.now();
        await turnsMore(stage, 50);
        return `nothing arrived for ${CUT_MS / 1_000} s, ${without} turns in it; 50 turns in ${Math.round(performance.now() - backMs)} ms after it`;
      }),
    ),
  );

/** Replicas of an earlier build (`--old`, a folder with its `dist`) are replaced one after the other. */
const rolling: Trial = ({ seed, old }) =>
  withPostgres((postgres) =>
    underLoad({ seed, url: postgres.url(), old }, async (stage) => {
      const [before] = await version(postgres);
      for (const number of [0, 1, 2]) {
        await stage.team.retire(number);
        await stage.team.start(number);
        await turnsMore(stage, 40);
      }
      const [after] = await version(postgres);
      return `schema ${before?.version} to ${after?.version} under load, three replicas replaced one after the other`;
    }),
  );

function version(postgres: PostgresServer): Promise<{ version: number }[]> {
  return sql(postgres, 'SELECT max(version) AS version FROM mcp_pruner.schema_version');
}

/** All through PgBouncer in transaction mode, which gives three server connections to three replicas. */
const pooler: Trial = ({ seed }) =>
  withPostgres((postgres) =>
    withPooler(postgres, (url, version) =>
      underLoad({ seed, url }, async (stage) => {
        await turnsMore(stage, 150);
        const [most] = await sql<{ count: string }>(
          postgres,
          "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
        );
        return `through ${version}, ${most?.count} server connections`;
      }),
    ),
  );

/** What may happen beside the race. */
export const faults: Readonly<Record<string, Trial>> = {
  killed,
  failover,
  readonly,
  'disk-full': diskFull,
  connections,
  cut,
  rolling,
  pooler,
  revocation,
};
