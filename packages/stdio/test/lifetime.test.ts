import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAlive, RawClient } from './helpers/client.ts';
import { FakeSwePruner } from './helpers/fake-pruner.ts';
import { soon } from './helpers/soon.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-life-'));
});

afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Starts a command that never ends, which has a child that never ends either and, if `stubborn`, ignores SIGTERM.
 *
 * @returns the id of the call and the process ids of both, once they run
 */
async function startEndless(client: RawClient, stubborn = false): Promise<{ id: number; pids: number[] }> {
  const file = join(folder, `pids-${Math.random()}`);
  const trap = stubborn ? "trap '' TERM; " : '';
  const id = client.start('bash', {
    command: `${trap}sleep 1000 & echo $$ $! > ${file}.new; mv ${file}.new ${file}; wait; sleep 1000`,
  });
  const pids = async (): Promise<number[]> => readFileSync(file, 'utf8').trim().split(' ').map(Number);
  await soon(() => pids().catch(() => [])).toHaveLength(2);
  return { id, pids: await pids() };
}

const allGone = (pids: readonly number[]) => soon(() => pids.filter(isAlive)).toEqual([]);

describe('concurrent requests', () => {
  it('do not wait for a slow command', async () => {
    const client = new RawClient();
    await startEndless(client);
    expect(await client.call('bash', { command: 'echo quick' })).toBe('quick\n');
    const calls = Array.from({ length: 20 }, (_, i) => client.call('bash', { command: `echo ${i}` }));
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 20 }, (_, i) => `${i}\n`));
  });
});

describe('a call cancelled by the client', () => {
  it('ends the command and all processes that it started, and is not answered', async () => {
    const client = new RawClient();
    const { id, pids } = await startEndless(client);
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    await allGone(pids);
    expect(await client.request('ping')).toMatchObject({ result: {} });
    expect(client.lines).toHaveLength(1);
  });

  it.skipIf(process.platform !== 'linux')('also ends processes that left the command’s group', async () => {
    const client = new RawClient();
    const file = join(folder, `strays-${Math.random()}`);
    const id = client.start('bash', {
      command: `(setsid sleep 1000 & echo $! > ${file}.new); mv ${file}.new ${file}; sleep 1000`,
    });
    const started = async () => readFileSync(file, 'utf8').trim().split(' ').map(Number);
    await soon(() => started().catch(() => [])).toHaveLength(1);
    const pids = await started();
    expect(pids.filter(isAlive)).toEqual(pids);
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    await allGone(pids);
  });

  it('no longer waits for the pruner', async () => {
    const pruner = new FakeSwePruner();
    const url = await pruner.start();
    const client = new RawClient({ env: { PRUNER_URL: url } });
    const left = new Promise<void>((resolve) => pruner.will((res) => void res.once('close', resolve)));
    const id = client.start('bash', { command: 'echo x', context_focus_question: 'y' });
    await soon(() => pruner.asked.length).toBe(1);
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    await left;
    await pruner.close();
  });
});

describe('a client that disconnects', () => {
  it('by closing its side of the stream ends the server and all commands', async () => {
    const client = new RawClient();
    const { pids } = await startEndless(client, true);
    client.child.stdin.end();
    expect(await client.ended()).toEqual([0, null]);
    await allGone(pids);
  });

  it('by dying ends the server and all commands', async () => {
    const client = new RawClient();
    const { pids } = await startEndless(client);
    client.child.stdin.destroy();
    client.child.stdout.destroy();
    client.child.stderr.destroy();
    expect((await client.ended())[1]).toBe(null);
    await allGone(pids);
  });

  it('while an answer is being sent ends the server', async () => {
    const client = new RawClient();
    client.child.stdout.pause();
    client.start('bash', { command: 'head -c 20000000 /dev/zero | tr "\\\\0" x' });
    await soon(() => client.stderr).toMatch(/bash done/);
    client.child.stdout.destroy();
    expect((await client.ended())[1]).toBe(null);
  });

  it('only from stderr does not disturb the server', async () => {
    const client = new RawClient();
    client.child.stderr.destroy();
    for (let i = 0; i < 3; i++) expect(await client.call('bash', { command: 'echo x' })).toBe('x\n');
  });
});

describe('a signal', () => {
  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s ends the server and all commands', async (signal) => {
    const client = new RawClient();
    const { pids } = await startEndless(client, true);
    client.child.kill(signal);
    expect(await client.ended()).toEqual([0, null]);
    await allGone(pids);
  });

  it.skipIf(process.platform === 'win32')('SIGKILL also ends all commands', async () => {
    const client = new RawClient();
    const one = await startEndless(client);
    const two = await startEndless(client, true);
    client.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: one.id } });
    await allGone(one.pids);
    client.child.kill('SIGKILL');
    expect(await client.ended()).toEqual([null, 'SIGKILL']);
    await allGone(two.pids);
  });

  it.skipIf(process.platform !== 'linux').each(['SIGKILL', 'SIGTERM'] as const)(
    '%s ends processes that finished commands left running, inside or outside their process group',
    async (signal) => {
      const client = new RawClient();
      const behind = async (command: string): Promise<number> =>
        Number(await client.call('bash', { command: `${command} > /dev/null 2>&1 & echo $!` }));
      const pids = [
        await behind('sleep 1000'),
        await behind('setsid sleep 1000'),
        await behind('setsid -f sh -c "sleep 1000"'),
      ];
      const found = pids.filter(isAlive);
      expect(found.length).toBeGreaterThanOrEqual(2); // the last one forks once more
      const another = new RawClient();
      const others = Number(await another.call('bash', { command: 'setsid sleep 1000 > /dev/null 2>&1 & echo $!' }));
      client.child.kill(signal);
      await client.ended();
      await allGone(found);
      expect(isAlive(others)).toBe(true);
      another.child.kill('SIGKILL');
      await allGone([others]);
    },
  );

  it('ends the server even if the client does not read and the pruner does not answer', async () => {
    const pruner = new FakeSwePruner();
    const client = new RawClient({ env: { PRUNER_URL: await pruner.start() } });
    pruner.will(() => {});
    client.child.stdout.pause();
    client.start('bash', { command: 'head -c 5000000 /dev/zero | tr "\\\\0" x' });
    client.start('bash', { command: 'echo x', context_focus_question: 'y' });
    await soon(() => client.stderr).toMatch(/bash done/);
    await soon(() => pruner.asked.length).toBe(1);
    client.child.kill('SIGTERM');
    expect(await client.ended()).toEqual([0, null]);
    await pruner.close();
  });
});

describe('output of any size', () => {
  it('is returned completely, even with other calls in between', async () => {
    const client = new RawClient();
    const command = 'yes "a line with \\"quotes\\", é and 😀" | head -n 400000; yes err | head -n 400000 >&2';
    const large = client.call('bash', { command });
    expect(await client.request('ping')).toMatchObject({ result: {} });
    const text = await large;
    const expected = `${'a line with "quotes", é and 😀\n'.repeat(400_000)}\n[stderr]\n${'err\n'.repeat(400_000)}`;
    expect(text.length).toBe(expected.length);
    expect(createHash('sha256').update(text).digest('hex')).toBe(createHash('sha256').update(expected).digest('hex'));
  });
});
