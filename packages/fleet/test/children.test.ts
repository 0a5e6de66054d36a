import { describe, expect, it } from 'vitest';
import { until } from '../../../test/helpers/until.ts';
import { AGENT, children, startFleet, TOKEN } from './helpers.ts';

const loggedLines = (logs: { stream: string; message: string }[], stream = 'stdout') =>
  logs.filter((entry) => entry.stream === stream).map(({ message }) => message);

describe('a child', () => {
  it('calls the model at its own address, has its usage counted, and leaves a log', async () => {
    const { client, upstream } = await startFleet();
    const made = await client.agent(
      [
        ['ask', 'hello'],
        ['say', 'done'],
      ],
      { child_id: 'c', role: 'reader', run_id: 'r' },
    );
    expect(made).toMatchObject({ child_id: 'c', role: 'reader', run_id: 'r', starts: 1, idempotent: false });
    const ended = await client.call('child_status', { child_id: 'c', wait_ms: 20_000 });
    expect(ended).toMatchObject({
      state: 'terminated',
      exit_code: 0,
      usage: { messages: 1, tokens_in: 30, tokens_out: 10, tokens: 40 },
    });
    expect(upstream.requests[0]?.url).toBe('/v1/chat/completions');
    const { payload } = await client.call('resources_read', { uri: ended.logs_uri });
    expect(loggedLines(payload.logs)).toContain('done');
    expect(loggedLines(payload.logs, 'meta').join()).toContain('ended: exit code 0');
    expect(payload.logs.find(({ parsed }: { parsed: unknown }) => parsed !== null).parsed.status).toBe(200);
    let events: { readonly kind: string; readonly childId: string }[] = [];
    const requestOf = () => events.find(({ kind }) => kind === 'request');
    // requests are reported a moment later, many together
    await until(async () => {
      ({ events } = await client.call('events_watch', { from_seq: 0, limit: 200 }));
      return requestOf() !== undefined;
    });
    expect(requestOf()?.childId).toBe('c');
    const kinds = events.filter(({ childId }) => childId === 'c').map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['child_created', 'child_started', 'child_ended']));
  });

  it('has its first request beyond a limit refused and logged once, and is then ended', async () => {
    const { client, upstream } = await startFleet();
    const orders = [['ask', 'one'], ['ask', 'two'], ['ask', 'three'], ['stay']];
    await client.agent(orders, { child_id: 'm', limits: { messages: 2 } });
    const ended = await client.call('child_status', { child_id: 'm', wait_ms: 20_000 });
    expect(ended).toMatchObject({ stop_reason: 'limit:messages', usage: { messages: 2 } });
    expect(upstream.requests).toHaveLength(2);
    const { payload } = await client.call('resources_read', { uri: ended.logs_uri });
    expect(loggedLines(payload.logs).join()).toContain('"code":"messages"');
    const { events } = await client.call('events_watch', { from_seq: 0, limit: 200 });
    expect(events.filter(({ kind }: { kind: string }) => kind === 'child_limit_exceeded')).toHaveLength(1);

    await client.agent([['ask', 'one'], ['ask', 'two'], ['stay']], { child_id: 't', limits: { tokens: 40 } });
    expect(await client.call('child_status', { child_id: 't', wait_ms: 20_000 })).toMatchObject({
      stop_reason: 'limit:tokens',
    });
    await client.agent([['stay']], { child_id: 'w', limits: { wallclock_ms: 300 } });
    expect(await client.call('child_status', { child_id: 'w', wait_ms: 20_000 })).toMatchObject({
      stop_reason: 'limit:wallclock_ms',
    });
    await client.agent([['stay']], { child_id: 'mem', limits: { memory_mb: 1 } });
    expect(await client.call('child_status', { child_id: 'mem', wait_ms: 20_000 })).toMatchObject({
      stop_reason: 'limit:memory_mb',
    });
  });

  it('can call only its own few tools, under its own identity', async () => {
    const { client, proxy } = await startFleet();
    const orders = [
      ['tool', 'bb_set', { key: 'f:1', value: 'x' }],
      ['tool', 'child_create', { command: '/bin/true' }],
      ['tool', 'plan_status', { run_id: 'r' }],
      ['env'],
    ];
    await client.agent(orders, { child_id: 'c', env: { MY_SETTING: 'yes', MY_SECRET_KEY: 'never-to-be-seen' } });
    const ended = await client.call('child_status', { child_id: 'c', wait_ms: 20_000 });
    const { payload } = await client.call('resources_read', { uri: ended.logs_uri });
    const [set, create, plan, env] = payload.logs
      .filter(({ parsed }: { parsed: unknown }) => parsed !== null)
      .map(({ parsed }: { parsed: unknown }) => parsed);
    expect(set.result).toBeDefined();
    expect([create.error.code, plan.error.code]).toEqual([-32602, -32602]);
    expect(env.MCP_PRUNER_AUTH_TOKEN).toBeUndefined();
    expect(env.MY_SETTING).toBe('yes');
    expect([env.MCP_PRUNER_CHILD_TOKEN, env.MY_SECRET_KEY]).toEqual(['[redacted]', '[redacted]']);
    const everything =
      JSON.stringify([payload, ended, await client.call('events_watch', { from_seq: 0, limit: 200 })]) +
      (await proxy.logText());
    expect(everything).not.toMatch(/never-to-be-seen|child\/[0-9a-f]{32}/);
    expect(everything).not.toContain(TOKEN);
    const unknown = await fetch(`${proxy.url}/child/${'0'.repeat(32)}/v1/chat/completions`, {
      method: 'POST',
      body: '{}',
    });
    expect([unknown.status, ((await unknown.json()) as { error: { code: string } }).error.code]).toEqual([
      403,
      'child_unknown',
    ]);
  });

  it('is ended with all processes that it started, gently or immediately, and can be restarted', async () => {
    const { client } = await startFleet();
    await client.agent([['say', 'up'], ['stay']], { child_id: 'c' });
    expect((await client.fails('child_create', { child_id: 'c', command: process.execPath })).message).toMatch(
      /^E-CHILD-EXISTS: /,
    );
    expect((await client.fails('child_spawn_codex', { child_id: 'c' })).message).toMatch(/^E-CHILD-STATE: /);
    expect((await client.fails('child_gc', { child_id: 'c' })).message).toMatch(/^E-CHILD-STATE: /);
    const ended = await client.call('child_cancel', { child_id: 'c' });
    expect(ended).toMatchObject({ state: 'killed', signal: 'SIGTERM', stop_reason: 'cancelled' });
    expect(() => process.kill(ended.pid, 0)).toThrow();
    const again = await client.call('child_spawn_codex', { child_id: 'c', role: 'second' });
    expect(again).toMatchObject({ starts: 2, role: 'second' });
    expect(await client.call('child_kill', { child_id: 'c' })).toMatchObject({ state: 'killed', signal: 'SIGKILL' });
    expect(await client.call('child_attach', { child_id: 'c', run_id: 'x' })).toMatchObject({
      run_id: 'x',
      attached_at: expect.any(Number),
    });
    expect(await client.call('child_set_limits', { child_id: 'c', limits: { messages: 5 } })).toMatchObject({
      limits: { messages: 5 },
    });
    expect(await client.call('child_gc', { child_id: 'c' })).toEqual({ child_id: 'c', removed: true });
    expect((await client.fails('child_status', { child_id: 'c' })).message).toMatch(/^E-CHILD-NOT-FOUND: /);
  });

  it('must be an allowed program in an allowed folder', async () => {
    const { client } = await startFleet({ MCP_PRUNER_CHILDREN: children(300, { max: 1 }) });
    const refused = async (args: object) => (await client.fails('child_create', args)).message;
    expect(await refused({ command: '/bin/sh' })).toMatch(/^E-CHILD-COMMAND: /);
    expect(await refused({ command: 'node' })).toMatch(/^E-CHILD-COMMAND: /);
    expect(await refused({ agent: 'codex' })).toMatch(/^E-CHILD-COMMAND: /);
    expect(await refused({ command: process.execPath, cwd: '/' })).toMatch(/^E-CHILD-COMMAND: /);
    expect(await refused({ command: process.execPath, env: { NODE_OPTIONS: '--inspect' } })).toMatch(
      /^E-CHILD-COMMAND: /,
    );
    expect(await refused({ command: process.execPath, env: { BASH_ENV: '/tmp/x' } })).toMatch(
      /^E-CHILD-COMMAND: .*BASH_ENV/,
    );
    expect(await refused({ command: process.execPath, limits: { memory_mb: 9999 } })).toMatch(/^E-CHILD-LIMIT: /);
    expect((await client.fails('child_create', { command: process.execPath, limits: { speed: 1 } })).code).toBe(-32602);
    await client.agent([['stay']], { child_id: 'one' });
    expect(
      (await client.fails('child_create', { command: process.execPath, args: [AGENT], child_id: 'two' })).message,
    ).toMatch(/^E-CHILD-LIMIT: /);
    expect((await client.call('child_list')).children).toHaveLength(1);
  });

  it('is started only if its whole batch can be started', async () => {
    const { client } = await startFleet();
    await client.agent([['stay']], { child_id: 'ok', start: false });
    const entries = [
      { child_id: 'ok', idempotency_key: 'k1' },
      { child_id: 'nothing', manifest_path: 'no-such-file.json' },
    ];
    expect((await client.fails('child_batch_create', { entries })).message).toMatch(/^E-CHILD-MANIFEST: /);
    expect((await client.call('child_list')).children).toEqual([]);
  });

  it('ends when its server ends', async () => {
    const { client, proxy } = await startFleet();
    const { pid } = await client.agent([['stay']], { child_id: 'c' });
    await proxy.stop();
    await until(() => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
  });
});
