// What replicas on one PostgreSQL do beside one server on SQLite, and what conversations cost in the database. Needs a build:
//   npm run build && node bench/run.mjs replicas [--rounds 3] [--seconds 3] [--conversations 1000,100000]
// Rounds are interleaved; on one machine only ratios mean something: replicas, database, provider and load share its cores.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openPostgresStore } from '@mcp-pruner/team/postgres/store.ts';
import type { PostgresServer } from '../../test/helpers/postgres-server.ts';
import { Conversation } from '../team/conversations.ts';
import { ask } from '../team/race.ts';
import { type Replica, startProvider, Team } from '../team/stage.ts';
import { sql, withPostgres } from '../team/trials.ts';
import { type CostRow, costs } from './costs.ts';

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    conversations: { type: 'string', default: '1000,100000' },
  },
});
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const AT_ONCE = 8;
const KNOWN_TURNS = 4;

/** What agents got of some servers in a while. */
interface Sample {
  readonly perSecond: number;
  readonly medianMs: number;
  readonly slowMs: number;
  readonly cpuMs: number;
}

/** Servers that are compared. */
interface Contestant {
  readonly name: string;
  readonly team: Team;
  readonly known: Sample[];
  readonly fresh: Sample[];
}

async function measure(team: Team, seconds: number, isKnown: boolean): Promise<Sample> {
  const endMs = performance.now() + seconds * 1_000;
  const times: number[] = [];
  const cpuBefore = cpuMs(team);
  const work = async (worker: number): Promise<void> => {
    let conversation = next();
    const replica = team.alive[worker % team.alive.length];
    if (!replica) throw new Error('nobody is there');
    while (performance.now() < endMs) {
      if (!isKnown || conversation.texts.length === 0) {
        if (conversation.texts.length >= KNOWN_TURNS) conversation = next();
        conversation.next();
        if (isKnown) {
          for (let turn = 1; turn < KNOWN_TURNS; turn++) conversation.next();
          await ask(replica, conversation);
        }
      }
      const beganMs = performance.now();
      const failure = await ask(replica, conversation);
      if (failure !== null) throw new Error(failure);
      times.push(performance.now() - beganMs);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, worker) => work(worker)));
  const sorted = times.sort((a, b) => a - b);
  return {
    perSecond: times.length / seconds,
    medianMs: sorted[Math.floor(times.length / 2)] ?? 0,
    slowMs: sorted[Math.floor(times.length * 0.95)] ?? 0,
    cpuMs: (cpuMs(team) - cpuBefore) / Math.max(1, times.length),
  };
}

let conversations = 0;
/** One that speaks chat completions and does not stream. */
function next(): Conversation {
  conversations += 4;
  return new Conversation(conversations);
}

/** A hundredth of a second, as Linux counts the time of processes. */
const TICK_MS = 10;

/** CPU time of all servers so far, in milliseconds; 0 where there is no /proc. */
function cpuMs(team: Team): number {
  const of = ({ server }: Replica): number => {
    const file = `/proc/${server.child.pid}/stat`;
    if (!existsSync(file)) return 0;
    const [user = 0, system = 0] =
      readFileSync(file, 'utf8').split(') ')[1]?.split(' ').slice(11, 13).map(Number) ?? [];
    return (user + system) * TICK_MS;
  };
  return team.alive.reduce((sum, replica) => sum + of(replica), 0);
}

function median(samples: readonly Sample[], field: keyof Sample): number {
  const sorted = samples.map((sample) => sample[field]).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

async function compare(postgres: PostgresServer, folder: string): Promise<void> {
  const provider = await startProvider(() => undefined);
  const upstream = { MCP_PRUNER_UPSTREAM_URL: `${provider.url}/v1`, MCP_PRUNER_ANTHROPIC_URL: provider.url };
  const contestants: Contestant[] = [];
  const enter = async (name: string, replicas: number, env: Readonly<Record<string, string>>): Promise<void> => {
    const team = new Team({ ...upstream, ...env });
    contestants.push({ name, team, known: [], fresh: [] });
    for (let number = 0; number < replicas; number++) await team.start(number);
  };
  try {
    await enter('1 on SQLite', 1, { MCP_PRUNER_DB_PATH: join(folder, 'store.db') });
    for (const replicas of [1, 2, 4]) {
      await enter(`${replicas} on PostgreSQL`, replicas, { MCP_PRUNER_DATABASE_URL: postgres.url() });
    }
    for (const { team } of contestants) await measure(team, 1, false);
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const { team, known, fresh } of contestants) {
        fresh.push(await measure(team, Number(values.seconds), false));
        known.push(await measure(team, Number(values.seconds), true));
      }
    }
    say('| servers | turns | requests/s | median ms | 95 % ms | CPU ms a request |');
    say('| --- | --- | --- | --- | --- | --- |');
    for (const { name, known, fresh } of contestants) {
      for (const [turns, samples] of [['new texts', fresh] as const, ['known', known] as const]) {
        const shown = (['perSecond', 'medianMs', 'slowMs', 'cpuMs'] as const).map((field) =>
          median(samples, field).toFixed(field === 'perSecond' ? 0 : 1),
        );
        say(`| ${name} | ${turns} | ${shown.join(' | ')} |`);
      }
    }
  } finally {
    for (const { team } of contestants) await team.close();
    provider.close();
  }
}

/** How often a process waits for the database, as the driver counts it. */
async function roundTrips(postgres: PostgresServer): Promise<void> {
  const options = { ttlMs: 86_400_000, maxBytes: 1e10, maxEvents: 1_000 };
  const store = openPostgresStore({ url: postgres.url(), clock: { nowMs: Date.now }, ...options });
  await store.ready();
  const before = store.roundTrips;
  await store.lookUp({ prefixes: ['a prefix'], keys: ['a key'] });
  const asked = store.roundTrips - before;
  await store.commit(
    { decisions: [], touch: [], sent: [{ prefix: 'p', annotateLines: false, includeMarkers: true, texts: [] }] },
    1_000,
  );
  say(`round trips: look-up ${asked}, commit ${store.roundTrips - before - asked}`);
  await store.close();
}

const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-replicas-'));
try {
  await withPostgres(
    (postgres) => compare(postgres, folder),
    ['fsync=on', 'full_page_writes=on', 'max_connections=100'],
  );
  await withPostgres(roundTrips);
  say(
    '\n| conversations | rows | tables MB | indexes MB | a sweep that finds nothing ms | a step of expiry ms: median, slowest | originals/s |',
  );
  say('| --- | --- | --- | --- | --- | --- | --- |');
  for (const many of values.conversations.split(',').map(Number)) {
    const row: CostRow = await withPostgres((postgres) => costs(postgres.url(), many, (text) => sql(postgres, text)));
    say(
      `| ${many} | ${row.rows} | ${row.tableMb} | ${row.indexMb} | ${row.idleMs} | ${row.stepMs} | ${row.perSecond} |`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
