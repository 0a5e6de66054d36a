import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { EventRecord } from '../../src/core/ports.ts';
import { Idempotency } from '../../src/mcp/idempotency.ts';
import { defineTool, type Tool } from '../../src/mcp/tool.ts';
import { manualClock } from '../contract/store.suite.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { openStore } from '../helpers/rewriter.ts';
import { ask, connectTo, logArgs, startProduct } from './helpers/product.ts';

const TTL_MS = 60_000;
const signal = new AbortController().signal;

/** A tool that counts its runs; the text `wait` holds it until `release`, `fail` fails. */
function counting() {
  let runs = 0;
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const tool = defineTool({
    name: 'count',
    namespace: 'test',
    summary: 'Count.',
    description: 'Count.',
    faces: ['rpc'],
    input: z.strictObject({ say: z.string(), more: z.unknown().optional() }),
    async run({ say }) {
      runs++;
      if (say === 'wait') await gate;
      if (say === 'fail' && runs === 1) throw new Error('failed');
      return { run: runs };
    },
  });
  return { tool, release, runs: () => runs };
}

function wrapped(tool: Tool, path = ':memory:', clock = manualClock()) {
  const store = openStore(path, clock);
  const events: EventRecord[] = [];
  const failures: unknown[] = [];
  const replayed: string[] = [];
  const idempotency = new Idempotency({
    records: store.records,
    store,
    clock,
    ttlMs: TTL_MS,
    events: { add: (some) => events.push(...some) },
    onReplayed: (name) => replayed.push(name),
    onFailure: (cause) => failures.push(cause),
  });
  const keyed = idempotency.wrap(tool);
  const call = async (args: object): Promise<unknown> => JSON.parse(await keyed.call(args, { signal }));
  return { call, keyed, clock, events, failures, replayed, store };
}

const first = { run: 1, idempotent: false, idempotency_key: 'k' };

describe('a call with an idempotency_key', () => {
  it('that is repeated gets the first answer without running again, whatever the order of its fields', async () => {
    const { tool, runs } = counting();
    const { call, events, replayed } = wrapped(tool);
    expect(await call({ say: 'a', more: { x: 1, y: 2 }, idempotency_key: 'k' })).toEqual(first);
    const again = await call({ idempotency_key: 'k', more: { y: 2, x: 1 }, say: 'a' });
    expect(again).toEqual({ ...first, idempotent: true });
    expect(runs()).toBe(1);
    expect(replayed).toEqual(['count']);
    expect(events).toEqual([
      expect.objectContaining({
        kind: 'count_replayed',
        level: 'info',
        payload: { tool: 'count', args_hash: expect.any(String) },
      }),
    ]);
  });

  it('is refused if the key was used with other arguments', async () => {
    const { tool, runs } = counting();
    const { call } = wrapped(tool);
    await call({ say: 'a', idempotency_key: 'k' });
    await expect(call({ say: 'b', idempotency_key: 'k' })).rejects.toMatchObject({ code: 'idempotency_conflict' });
    expect(runs()).toBe(1);
    expect(await call({ say: 'b', idempotency_key: 'other' })).toMatchObject({ run: 2, idempotent: false });
  });

  it('runs again after the stored answer has expired', async () => {
    const { tool } = counting();
    const { call, clock } = wrapped(tool);
    await call({ say: 'a', idempotency_key: 'k' });
    clock.now += TTL_MS - 1;
    expect(await call({ say: 'a', idempotency_key: 'k' })).toMatchObject({ run: 1, idempotent: true });
    clock.now += 1;
    expect(await call({ say: 'b', idempotency_key: 'k' })).toMatchObject({ run: 2, idempotent: false });
  });

  it('waits for a running call with the same arguments, and is refused at once with others', async () => {
    const { tool, release, runs } = counting();
    const { call } = wrapped(tool);
    const calls = [1, 2, 3].map(() => call({ say: 'wait', idempotency_key: 'k' }));
    await expect(call({ say: 'a', idempotency_key: 'k' })).rejects.toMatchObject({ code: 'idempotency_conflict' });
    release();
    const answers = await Promise.all(calls);
    expect(answers).toEqual([first, { ...first, idempotent: true }, { ...first, idempotent: true }]);
    expect(runs()).toBe(1);
  });

  it('stores no answer if it failed, and a waiting call then runs itself', async () => {
    const { tool } = counting();
    const { call } = wrapped(tool);
    const [one, two] = await Promise.allSettled([1, 2].map(() => call({ say: 'fail', idempotency_key: 'k' })));
    expect(one?.status).toBe('rejected');
    expect(two).toMatchObject({ status: 'fulfilled', value: { run: 2, idempotent: false } });
    expect(await call({ say: 'fail', idempotency_key: 'k' })).toMatchObject({ run: 2, idempotent: true });
  });

  it('waits for another process on the store that has the key, and is refused with other arguments', async () => {
    const path = `${tempFolder()}/store.db`;
    const [one, two] = [counting(), counting()];
    await two.tool.call({ say: 'x' }, { signal }); // its next run is number 2
    const [a, b] = [wrapped(one.tool, path), wrapped(two.tool, path)];
    two.release();
    const works = a.call({ say: 'wait', idempotency_key: 'k' });
    const waits = b.call({ say: 'wait', idempotency_key: 'k' });
    await expect(b.call({ say: 'a', idempotency_key: 'k' })).rejects.toMatchObject({ code: 'idempotency_conflict' });
    one.release();
    expect(await works).toMatchObject({ run: 1, idempotent: false });
    expect(await waits).toMatchObject({ run: 1, idempotent: true });
    expect(two.runs()).toBe(1);
  });

  it('takes over a key from a process that was killed while it held the key', async () => {
    const path = `${tempFolder()}/store.db`;
    const [one, two] = [counting(), counting()];
    const [killed, other] = [wrapped(one.tool, path), wrapped(two.tool, path)];
    void killed.call({ say: 'wait', idempotency_key: 'k' }).catch(() => undefined);
    await expect.poll(() => one.runs()).toBe(1);
    other.clock.now += 60_000;
    two.release();
    expect(await other.call({ say: 'wait', idempotency_key: 'k' })).toMatchObject({ run: 1, idempotent: false });
    one.release();
  });

  it('runs even if the store is gone, without storing the answer', async () => {
    const { tool } = counting();
    const { call, store, failures } = wrapped(tool);
    await store.close();
    expect(await call({ say: 'a', idempotency_key: 'k' })).toEqual(first);
    expect(await call({ say: 'a', idempotency_key: 'k' })).toMatchObject({ run: 2, idempotent: false });
    expect(failures).toHaveLength(2);
  });

  it('must have a key of 1 to 256 characters', async () => {
    const { call } = wrapped(counting().tool);
    for (const idempotency_key of ['', 1, null, 'x'.repeat(257), '\ud800']) {
      await expect(call({ say: 'a', idempotency_key })).rejects.toMatchObject({
        code: -32602,
        data: { issues: [{ field: 'idempotency_key' }] },
      });
    }
    expect(await call({ say: 'a' })).toEqual({ run: 1, idempotent: false, idempotency_key: null });
  });
});

describe('idempotency over /rpc', () => {
  const env = { MCP_PRUNER_ENABLE: 'idempotency,bulk' };
  const schemasOf = async (given: Record<string, string>) => {
    const { tools } = await (await connectTo(await startProduct(given))).listTools();
    return new Map(tools.map(({ name, inputSchema }) => [name, inputSchema]));
  };

  it('adds the key to the schemas of changing tools only if it is switched on', async () => {
    const [off, on] = [await schemasOf({ MCP_PRUNER_ENABLE: 'bulk' }), await schemasOf(env)];
    const keyed = [...on].filter(([, { properties }]) => properties?.idempotency_key).map(([name]) => name);
    expect(keyed.sort()).toEqual([
      'context_gc_pin',
      'context_gc_prune',
      'context_gc_unpin',
      'prune_batch',
      'prune_text',
      'recover_batch',
    ]);
    for (const [name, schema] of on) {
      const { idempotency_key: _, ...properties } = schema.properties ?? {};
      expect([name, { ...schema, properties }]).toEqual([name, { properties: {}, ...off.get(name) }]);
    }
  });

  it('replays prune_text byte for byte across a restart, and its lines can still be recovered', async () => {
    const proxy = await startProduct(env);
    const args = { ...logArgs(), idempotency_key: 'once' };
    const before = await ask<{ prune_id: string }>(proxy, 'prune_text', args);
    await proxy.restart();
    const after = await ask<{ prune_id: string }>(proxy, 'prune_text', args);
    expect(after).toEqual({ ...before, idempotent: true });
    expect(await proxy.recover(after.prune_id, 1, 1)).toBe(args.text.split('\n')[0]);
    expect(await proxy.call('prune_text', { ...args, goal_hint: 'other' })).toMatchObject({
      error: { code: -32010, message: 'idempotency_conflict', data: { tool: 'prune_text', hint: expect.any(String) } },
    });
  });

  it('never replays an answer whose originals are gone', async () => {
    const clock = manualClock();
    const { startProxy } = await import('../helpers/proxy.ts');
    const { startUpstream } = await import('../helpers/fake-upstream.ts');
    const ttl = { MCP_PRUNER_PRUNE_ID_TTL_S: '100' };
    const proxy = await startProxy(await startUpstream(), { clock, env: { ...env, ...ttl } });
    const args = { ...logArgs(), idempotency_key: 'once' };
    await ask(proxy, 'prune_text', args);
    clock.now += 200_000;
    const again = await ask<{ prune_id: string; idempotent: boolean }>(proxy, 'prune_text', args);
    expect(again.idempotent).toBe(false);
    expect(await proxy.recover(again.prune_id, 1, 1)).toBe(args.text.split('\n')[0]);
  });

  it('refuses a key as an unknown argument while it is off', async () => {
    const proxy = await startProduct();
    expect(await proxy.call('prune_text', { ...logArgs(), idempotency_key: 'x' })).toMatchObject({
      error: { code: -32602, data: { issues: [{ field: 'idempotency_key', message: 'Unrecognized key' }] } },
    });
  });
});
