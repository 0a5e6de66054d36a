import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from 'mcp-pruner/app/store.ts';
import { edition } from 'mcp-pruner/edition.ts';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../bench/conformance/types.ts';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { hasPostgres, newDatabase } from '../../../test/helpers/postgres.ts';
import { settingsOf, startProxy } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';
import { ANSWER_MS } from '../../team/src/postgres/connections.ts';
import { asksForSummary, openWorld, type SeamWorld } from './provider.ts';

/** What a kill at this moment leaves on the disk. */
function leftOf(world: SeamWorld): string {
  const path = join(tempFolder(), 'store.db');
  for (const end of ['', '-wal'])
    if (existsSync(world.proxy.dbPath + end)) copyFileSync(world.proxy.dbPath + end, path + end);
  return path;
}

/** Another run of the proxy, on another store. */
async function goOn(world: SeamWorld, dbPath: string): Promise<void> {
  await world.proxy.stop();
  const { clock, upstream } = world;
  const host = new URL(upstream.url).host;
  const env = { MCP_PRUNER_SEAMS: 'on', MCP_PRUNER_SEAMS_HOSTS: host };
  world.proxy = await startProxy(upstream, { clock, dbPath, env });
}

type Step = 'asked' | 'ready' | 'claimed' | 'sent' | 'kept';

it.each<[Step, boolean]>([
  ['asked', false],
  ['ready', true],
  ['claimed', true],
  ['sent', true],
  ['kept', true],
])('a run killed when a summary was %s loses at most the block, and breaks nothing', async (step, isUsed) => {
  const world = await openWorld();
  let left = '';
  const isAt = (request: Parameters<typeof asksForSummary>[0]): boolean =>
    asksForSummary(request) ? step === 'asked' : request.body.includes('"type":"compaction"');
  world.intercept.answer = (request, res) => {
    if (left !== '' || step === 'ready' || step === 'kept' || !isAt(request)) return false;
    left = leftOf(world);
    // claimed: the provider never sees it; otherwise only its answer is lost
    if (step === 'claimed') res.destroy();
    return step === 'claimed';
  };
  await world.toSummary();
  if (step === 'ready') left = leftOf(world);
  if (step === 'claimed' || step === 'sent') {
    world.messages.push({ role: 'user', content: 'Show the query.' });
    await world.send();
    world.messages.pop();
  }
  if (step === 'kept') {
    await world.turn('Show the query.');
    await world.turn('And the index?');
    left = leftOf(world);
  }
  await goOn(world, left);
  await world.turn('Show the query.');
  expect(world.isSwapped).toBe(isUsed);
  for (let i = 0; i < 3; i++) await world.turn(`Go on, part ${i}.`);
  expect([world.isSwapped, world.agent.breaks]).toEqual([isUsed, []]);
  if (isUsed) expect(JSON.stringify(world.forwarded).match(/the tool recall searches it/g)).toHaveLength(1);
});

it('another project and another host never get a block', async () => {
  const world = await openWorld();
  await world.toSummary();
  await world.turn('Show the query.');
  expect(world.isSwapped).toBe(true);
  const last = world.messages.length;
  world.messages.push({ role: 'user', content: 'And the index?' });
  await world.send({ 'x-mcp-pruner-project': 'other' });
  expect(world.isSwapped).toBe(false);
  const elsewhere = await startUpstream((_request, res) => res.end('{}'));
  const { clock, proxy } = world;
  await proxy.stop();
  const other = await startProxy(elsewhere, { clock, dbPath: proxy.dbPath, env: { MCP_PRUNER_SEAMS: 'on' } });
  const body = JSON.stringify(world.body());
  const headers = { 'content-type': 'application/json', 'x-api-key': 'sk-one', 'x-claude-code-session-id': 'one' };
  await (await fetch(`${other.url}/v1/messages`, { method: 'POST', headers, body })).text();
  expect(elsewhere.requests).toHaveLength(1);
  expect(elsewhere.last?.body.includes('"type":"compaction"')).toBe(false);
  await other.stop();
  await proxy.start();
  world.messages.length = last;
  world.agent.rewrite();
  await world.turn('And the index?');
  expect(world.isSwapped).toBe(true);
});

const PLACES: [string, boolean, () => Promise<Record<string, string>>][] = [
  ['a file', true, async () => ({})],
  ['a database', hasPostgres, async () => ({ MCP_PRUNER_DATABASE_URL: await newDatabase() })],
];

describe.each(PLACES)(
  'a project is erased on %s: blocks and lines go, its conversation goes on whole',
  (_, runs, place) => {
    it.runIf(runs).each([
      ['by the process that sent the block', 1, 0, 1],
      // what was thought with the block is refused, whole and pruned again
      ['by another one', 3, 2, 0],
    ])('%s', async (by, requests, breaks, later) => {
      const env = await place();
      const world = await openWorld({ env });
      await world.toSummary();
      await world.task('Show the query.', 2);
      await world.turn('And the index?');
      expect(world.isSwapped).toBe(true);
      const [{ content }] = world.forwarded as [{ content: [Json] }];
      const words = [String(content[0].signature), 'Earlier messages of this conversation were replaced'];
      const at = { ...env, MCP_PRUNER_DB_PATH: world.proxy.dbPath };
      const stored = async (): Promise<boolean[]> => {
        const rows = await compactionsIn(at);
        return words.map((text) => rows.includes(text));
      };
      expect(await stored()).toEqual([true, true]);
      const full = 'MCP_PRUNER_DATABASE_URL' in env ? ['--vacuum-full'] : [];
      const command = ['store', 'erase', '--project', 'default', '--json', ...full];
      const out = await until(async () => {
        const { code, out, err } = await run(command, { env: at, clock: world.clock });
        if (code === 0) return out;
        expect(err).toContain('run the command again'); // the server wrote rows of the last request meanwhile
        return false;
      });
      expect(JSON.parse(out)).toMatchObject({ complete: true });
      expect(await stored()).toEqual([false, false]);
      for (const path of [at.MCP_PRUNER_DB_PATH, `${at.MCP_PRUNER_DB_PATH}-wal`])
        if (existsSync(path)) for (const text of words) expect(readFileSync(path).includes(text)).toBe(false);

      if (by === 'by another one') await world.proxy.restart();
      const sent = world.turns.length;
      const since = (): [number, number] => [world.turns.length - sent, refusalsOf(world)];
      await world.turn('And the view?');
      expect(since()).toEqual([requests, breaks]);
      expect(world.forwarded).toHaveLength(world.messages.length - 1);
      expect(JSON.stringify(world.forwarded)).not.toContain(words[1]);
      expect(JSON.stringify(world.forwarded[1])).toContain('"type":"thinking"'); // from before the block
      await world.task('Now the tests.', 2);
      expect(since()).toEqual([requests + 3, breaks]);
      // the cuts were erased too: once more, the history is pruned again
      await world.proxy.restart();
      await world.task('And the docs.', 4);
      expect(since()).toEqual([requests + 3 + 5 + later, breaks + later]);
    });
  },
);

it('a project that is erased right behind the first request with a block goes on without what was thought with it', async () => {
  const world = await openWorld();
  await world.toSummary();
  await world.turn('Show the query.');
  expect(world.isSwapped).toBe(true);
  const env = { MCP_PRUNER_DB_PATH: world.proxy.dbPath };
  const { code } = await run(['store', 'erase', '--project', 'default'], { env, clock: world.clock });
  expect(code).toBe(0);
  const sent = world.turns.length;
  for (const words of ['And the index?', 'And the view?']) await world.turn(words);
  const refused = world.agent.breaks.filter(({ effect }) => effect === 'refused');
  expect([world.turns.length - sent, world.isSwapped, refused]).toEqual([2, false, []]);
});

it('a block that fits no longer what was thought is let go when it is refused twice in a row', async () => {
  const world = await openWorld();
  await world.toSummary();
  await world.task('Show the query.', 2);
  const { proxy } = world;
  const kept = join(tempFolder(), 'store.db');
  await proxy.stop();
  renameSync(proxy.dbPath, kept);
  await proxy.start(); // as after a failover to an empty replica
  await world.task('And the view?', 2);
  await proxy.stop();
  renameSync(kept, proxy.dbPath);
  await proxy.start();
  const refused = refusalsOf(world);
  await world.task('Now the tests.', 3);
  await proxy.restart();
  await world.task('And the docs.', 2);
  expect([world.isSwapped, refusalsOf(world) - refused]).toEqual([false, 2]);
});

it('a block stays as long as its conversation goes on, and then for 90 days', async () => {
  const world = await openWorld();
  await world.toSummary();
  for (let i = 0; i < 3; i++) {
    await world.turn('Go on.');
    world.clock.now += 60 * 86_400_000;
  }
  await world.proxy.stop();
  expect(await sweptRows(world)).toHaveLength(1); // not the one of a conversation of which nothing is known
  world.clock.now += 60 * 86_400_000;
  expect(await sweptRows(world)).toHaveLength(0);
});

it.each(PLACES.filter(([, runs]) => runs))(
  'a block goes with texts that its project does not keep, once its conversation has ended, on %s',
  async (_place, _runs, place) => {
    const env = await place();
    const world = await openWorld({ env });
    await world.toSummary();
    await world.turn('Show the query.');
    world.clock.now += 5 * 86_400_000;
    await world.turn('And the index?');
    await world.proxy.stop();
    const settings = settingsOf({ ...env, MCP_PRUNER_DB_PATH: world.proxy.dbPath });
    const store = await openStore(settings, { edition, clock: world.clock });
    const leftAfter = async (days: number, project = 'default'): Promise<number> => {
      world.clock.now += days * 86_400_000;
      const erasure = await store.erasure();
      while (await erasure.expire({ project, textDays: 3 }, 1e9));
      while (await store.sweep());
      return (await store.sql.all("SELECT 1 AS one FROM main.seam_compaction WHERE project <> 'old'")).length;
    };
    expect([await leftAfter(2), await leftAfter(2, 'other'), await leftAfter(0)]).toEqual([1, 1, 0]);
    await store.close();
  },
);

/** The compactions that a sweep leaves. */
async function sweptRows({ proxy, clock }: SeamWorld): Promise<unknown[]> {
  const store = await openStore(settingsOf({ MCP_PRUNER_DB_PATH: proxy.dbPath }), { edition, clock });
  try {
    while (await store.sweep());
    return await store.sql.all('SELECT * FROM main.seam_compaction');
  } finally {
    await store.close();
  }
}

it('a conversation that goes on in another project, or was erased, goes on without what was thought with the block', async () => {
  const world = await openWorld();
  world.command = 'true';
  await world.turn('Fix the checkout of the shop, please.');
  for (let i = 0; i < 8; i++) await world.turn(`Go on, part ${i}.`); // nothing is cut
  await world.result('made');
  for (const words of ['Show the query.', 'And the index?']) await world.turn(words);
  expect(world.isSwapped).toBe(true);
  const refused = (): number => world.agent.breaks.filter(({ effect }) => effect === 'refused').length;
  const before = [...world.messages];
  const headers = { 'x-mcp-pruner-project': 'renamed' };
  for (const words of ['And the view?', 'And the trigger?']) await world.turn(words, { headers });
  expect([world.isSwapped, refused()]).toEqual([false, 1]);
  world.messages = before;
  world.agent.rewrite();
  const env = { MCP_PRUNER_DB_PATH: world.proxy.dbPath };
  expect((await run(['store', 'erase', '--project', 'default'], { env, clock: world.clock })).code).toBe(0);
  await world.proxy.restart();
  for (const words of ['And the view?', 'And the trigger?']) await world.turn(words);
  expect([world.isSwapped, refused()]).toEqual([false, 2]);
});

it.runIf(hasPostgres)(
  'a conversation with a block waits while the database cannot be read, rather than break',
  async () => {
    const env = { MCP_PRUNER_DATABASE_URL: await newDatabase() };
    const world = await openWorld({ env });
    await world.toSummary();
    await world.turn('Show the query.');
    await world.proxy.restart(); // another process knows nothing of it
    const opened = async () => {
      const one = new pg.Client({ connectionString: env.MCP_PRUNER_DATABASE_URL });
      await one.connect();
      return one;
    };
    const [client, watcher] = [await opened(), await opened()]; // a transaction sees activity as it was at first
    await client.query('BEGIN; LOCK TABLE mcp_pruner.seam_compaction IN ACCESS EXCLUSIVE MODE');
    const asked = world.turns.length;
    const turn = world.turn('And the index?');
    await until(async () => (await waiting(watcher)) > 0);
    const givesUpMs = performance.now() + ANSWER_MS + 500;
    await until(() => performance.now() > givesUpMs);
    expect(world.turns).toHaveLength(asked);
    await client.query('COMMIT');
    await Promise.all([client.end(), watcher.end()]);
    await turn;
    expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
  },
);

/** Another process, whose store cannot be read. @returns a function that brings the store back */
async function withoutStore({ proxy }: SeamWorld): Promise<() => void> {
  await proxy.stop();
  const kept = join(tempFolder(), 'store.db');
  renameSync(proxy.dbPath, kept);
  writeFileSync(proxy.dbPath, 'no database'.repeat(1_000));
  await proxy.start();
  return () => {
    for (const end of ['-wal', '-shm']) rmSync(proxy.dbPath + end, { force: true });
    renameSync(kept, proxy.dbPath);
  };
}

/** Goes on until the store has that the conversation does without its block. */
async function untilLost(world: SeamWorld): Promise<void> {
  await until(async () => {
    await world.turn('Go on.');
    const env = { MCP_PRUNER_DB_PATH: world.proxy.dbPath };
    return (await compactionsIn(env).catch(() => '')).includes('"state":"lost"');
  });
}

/** Number of histories that the provider refused. */
function refusalsOf({ agent }: SeamWorld): number {
  return agent.breaks.filter(({ effect }) => effect === 'refused').length;
}

it('a conversation with a block goes on where the store cannot be read, and when it can be again', async () => {
  const world = await openWorld();
  await world.toSummary();
  await world.task('Show the query.', 2);
  expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
  const bringBack = await withoutStore(world);
  await world.task('And the view?', 2);
  // whole, and pruned again: only then nothing of what was thought is sent
  expect([world.isSwapped, refusalsOf(world)]).toEqual([false, 2]);
  bringBack();
  await untilLost(world);
  await world.proxy.restart();
  await world.task('Now the tests.', 2);
  expect([world.isSwapped, refusalsOf(world)]).toEqual([false, 2]);
});

it('what was thought while its block was unknown stays out once the block is known again', async () => {
  const world = await openWorld();
  await world.toSummary();
  world.more = { thinking: { type: 'disabled' } };
  await world.turn('Show the query.');
  expect(world.isSwapped).toBe(true);
  const bringBack = await withoutStore(world);
  world.more = {};
  await world.turn('And the index?');
  expect([world.isSwapped, refusalsOf(world)]).toEqual([false, 1]); // the cuts were unknown too
  bringBack();
  await untilLost(world);
  await world.task('Now the tests.', 2);
  expect([world.isSwapped, refusalsOf(world)]).toEqual([false, 1]);
});

/** Number of statements that wait for a lock in this database. */
async function waiting(client: pg.Client): Promise<number> {
  const { rows } = await client.query(
    "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  );
  return rows.length;
}

/** All that a store has of compactions. */
async function compactionsIn(env: Record<string, string>): Promise<string> {
  const store = await openStore(settingsOf(env), { edition, clock: { nowMs: () => Date.now() }, readonly: true });
  try {
    return JSON.stringify(await store.sql.all('SELECT * FROM main.seam_compaction'));
  } finally {
    await store.close();
  }
}
