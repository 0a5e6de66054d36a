import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { fleetKills } from '../../../bench/soak/fleet.ts';
import { afterwards, tempFolder } from '../../../test/helpers/afterwards.ts';
import { compiled } from '../../../test/helpers/built.ts';
import { hasPostgres, newDatabase } from '../../../test/helpers/postgres.ts';
import { until } from '../../../test/helpers/until.ts';
import { AGENT, Client, FLEET_ENV } from './helpers.ts';

const cli = compiled('cli.js');

interface Server {
  readonly process: ChildProcess;
  readonly client: Client;
}

/** Starts the built program on a store that outlives it. */
async function startServer(folder: string, port = 0, env: Readonly<Record<string, string>> = {}): Promise<Server> {
  const server = spawn(process.execPath, [cli, 'serve', '--port', String(port)], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      ...FLEET_ENV,
      MCP_PRUNER_DB_PATH: `${folder}/store.db`,
      MCP_PRUNER_UPSTREAM_URL: 'http://127.0.0.1:9/v1',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  afterwards(async () => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill('SIGTERM');
    await once(server, 'exit');
  });
  const url = await new Promise<string>((resolve, reject) => {
    server.once('exit', () => reject(new Error('the server did not start')));
    createInterface({ input: server.stdout }).on('line', (line) => {
      const { msg = '', url: at = '' } = JSON.parse(line) as { msg?: string; url?: string };
      if (msg.startsWith('listening')) resolve(at);
    });
  });
  return { process: server, client: new Client(url) };
}

async function kill({ process: server }: Server): Promise<void> {
  server.kill('SIGKILL');
  await once(server, 'exit');
}

describe('a server that is killed', { timeout: 90_000 }, () => {
  it('leaves its children running; the next server adopts those alive and reports the others as lost', async () => {
    const folder = tempFolder();
    const first = await startServer(folder);
    const said = [['say', 'before'], ['wait', 300], ['say', 'meanwhile'], ['stay']];
    const stays = await first.client.agent(said, { child_id: 'stays' });
    const goes = await first.client.agent([['stay']], { child_id: 'goes' });
    await kill(first);
    process.kill(goes.pid, 'SIGKILL');
    expect(process.kill(stays.pid, 0)).toBe(true);

    const second = await startServer(folder);
    const status = (child_id: string) => second.client.call('child_status', { child_id });
    await until(async () => (await status('goes')).state === 'lost', 20_000);
    expect(await status('stays')).toMatchObject({ state: 'running', pid: stays.pid });
    const logs = async () =>
      (await second.client.call('resources_read', { uri: 'sc://children/stays/logs' })).payload.logs;
    const lines = await until(async () => {
      const out = (await logs()).filter(({ stream }: { stream: string }) => stream === 'stdout');
      return out.length >= 2 && out.map(({ message }: { message: string }) => message);
    });
    expect(lines).toEqual(['before', 'meanwhile']);
    const { events } = await second.client.call('events_watch', { from_seq: 0, limit: 200 });
    const kinds = events.map(({ kind, childId }: { kind: string; childId: string }) => `${kind} ${childId}`);
    expect(kinds).toEqual(expect.arrayContaining(['child_adopted stays', 'child_lost goes']));
    const ended = await second.client.call('child_cancel', { child_id: 'stays' });
    expect(ended).toMatchObject({ stop_reason: 'cancelled', exit_code: null, ended_at: expect.any(Number) });
  });

  it('leaves batches and transactions complete or absent, one answer per key, and watches without gaps', async () => {
    process.env.MCP_PRUNER_BENCH_ROOT = compiled('..');
    for (const database of [null, ...(hasPostgres ? [await newDatabase()] : [])]) {
      const { passed, says } = await fleetKills({ kills: 2, seed: 11 }, database);
      expect(passed, says).toBe(true);
    }
  });

  it('shares its store with another server: a repeated call takes effect once, a lock has one holder', async () => {
    const folder = tempFolder();
    const [one, two] = await Promise.all([startServer(folder), startServer(folder)]);
    const begin = { graph_id: 'g', expected_version: 0, idempotency_key: 'same', graph: { nodes: [], edges: [] } };
    const begun = await Promise.all([one, two, one, two].map(({ client }) => client.call('tx_begin', begin)));
    expect(new Set(begun.map(({ tx_id }) => tx_id)).size).toBe(1);
    const asked = Array.from({ length: 8 }, (_, i) =>
      (i % 2 === 0 ? one : two).client.rpc('tools/call', {
        name: 'graph_lock',
        arguments: { graph_id: 'l', holder: `h${i}` },
      }),
    );
    const answers = await Promise.all(asked);
    expect(answers.filter(({ result }) => result)).toHaveLength(1);
    const counts = Array.from({ length: 10 }, (_, i) =>
      (i % 2 === 0 ? one : two).client.call('bb_set', { key: `k${i}`, value: i }),
    );
    const versions = (await Promise.all(counts)).map(({ version }) => version).sort((a, b) => a - b);
    expect(versions).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const tree = { id: 't', root: { kind: 'task', node_id: 'n', tool: 'wait', input: { ms: 60_000 } } };
    const run = await one.client.call('plan_run_bt', { tree, background: true });
    const three = await startServer(folder);
    expect(await three.client.call('plan_status', { run_id: run.run_id })).toMatchObject({ state: 'running' });
    await kill(one);
    const four = await startServer(folder);
    expect(await four.client.call('plan_status', { run_id: run.run_id })).toMatchObject({
      state: 'failed',
      reason: 'server_stopped',
    });
    const made = await four.client.agent([['stay']], { child_id: 'c' });
    expect((await two.client.call('child_list')).children[0]).toMatchObject({ child_id: 'c', pid: made.pid });
    expect(await two.client.call('child_cancel', { child_id: 'c' })).toMatchObject({ state: 'killed' });
    expect(AGENT).toContain('scripted-agent');
  });
});
