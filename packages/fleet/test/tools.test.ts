import { describe, expect, it } from 'vitest';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';
import { Client, FLEET_ENV, startFleet } from './helpers.ts';

const noNodes = { nodes: [], edges: [] };

describe('the fleet, called through its tools', () => {
  it('is off by default: no tool is listed, and the error of a call names the flag', async () => {
    const proxy = await startProxy('http://127.0.0.1:1', {
      env: { MCP_PRUNER_AUTH_TOKEN: FLEET_ENV.MCP_PRUNER_AUTH_TOKEN },
    });
    const client = new Client(proxy.url);
    const { result } = await client.rpc('tools/list');
    expect(
      result.tools
        .map(({ name }: { name: string }) => name)
        .filter((name: string) => /^(?:bb|child|graph|plan)_/.test(name)),
    ).toEqual([]);
    expect((await client.fails('bb_set', {})).message).toContain('--enable-blackboard');
    const { features } = await client.call('mcp_info');
    expect([features.enableFleet, features.enableBT, features.enableAssist]).toEqual([false, false, false]);
  });

  it('is enabled by one flag, except for excluded parts, and is reported as enabled', async () => {
    const { client } = await startFleet({ MCP_PRUNER_ENABLE: 'fleet,-cnp' });
    const names = (await client.rpc('tools/list')).result.tools.map(({ name }: { name: string }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'child_batch_create',
        'graph_patch',
        'bb_watch',
        'stig_batch',
        'plan_run_reactive',
        'events_watch',
      ]),
    );
    expect((await client.fails('cnp_announce', {})).message).toContain('--enable-cnp');
    const { features, safety, timings } = await client.call('mcp_info');
    expect([features.enableFleet, features.enableTx, features.enableBulk, features.enableCNP]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(safety).toMatchObject({ maxChildren: 16, memoryLimitMb: 4096, cpuPercent: 0 });
    expect(timings).toMatchObject({ btTickMs: 50, stigHalfLifeMs: 30_000, defaultTimeoutMs: 3_600_000 });
    const { namespaces } = await client.call('mcp_capabilities');
    expect(namespaces.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['children', 'graph', 'bulk', 'idempotency', 'blackboard', 'stigmergy', 'plan']),
    );
  });

  it('starts no program over HTTP without a token', async () => {
    const proxy = await startProxy('http://127.0.0.1:1', { env: { MCP_PRUNER_ENABLE: 'fleet' } });
    const { error } = await proxy.call('child_create', { command: process.execPath });
    expect(error?.message).toContain('MCP_PRUNER_AUTH_TOKEN');
    expect((await proxy.call('bb_set', { key: 'a', value: 1 })).result).toBeDefined();
  });

  it('keeps graph versions, and lets only one of two callers claim a node', async () => {
    const { client } = await startFleet();
    const graph = {
      graph_id: 'g',
      nodes: [{ id: 'a' }, { id: 'b' }],
      edges: [{ from: 'a', to: 'b' }],
      metadata: { dag: true },
    };
    const made = await client.call('graph_mutate', { graph, operations: [{ op: 'add_node', node: { id: 'c' } }] });
    expect(made).toMatchObject({ committed_version: 1, changed: true, graph: { graph_id: 'g', graph_version: 1 } });
    const claim = (owner: string) =>
      client.rpc('tools/call', {
        name: 'graph_batch_mutate',
        arguments: {
          graph_id: 'g',
          expected_version: 1,
          operations: [{ op: 'set_node_attribute', id: 'a', key: 'claimed', value: owner }],
        },
      });
    const claims = await Promise.all([claim('one'), claim('two')]);
    expect(claims.filter(({ result }) => result)).toHaveLength(1);
    expect(claims.find(({ error }) => error)?.error).toMatchObject({ code: -32031, data: { expected: 1, found: 2 } });
    const cycle = await client.fails('graph_batch_mutate', {
      graph_id: 'g',
      operations: [{ op: 'add_edge', edge: { from: 'b', to: 'a' } }],
    });
    expect(cycle).toMatchObject({
      code: -32035,
      message: expect.stringMatching(/^E-GRAPH-INVARIANT: /),
      data: { violations: [{ code: 'E-GRAPH-CYCLE' }] },
    });
    const { patch } = await client.call('graph_diff', { graph_id: 'g', from: { version: 2 }, to: { version: 1 } });
    const back = await client.call('graph_patch', { graph_id: 'g', patch, base_version: 2 });
    expect(back).toMatchObject({ committed_version: 3, invariants: { ok: true, violations: [] } });
    const same = await client.call('graph_diff', { graph_id: 'g', from: { version: 1 }, to: { latest: true } });
    expect(same).toMatchObject({ changed: false, patch: [], to: { source: 'latest', version: 3 } });
    const { payload } = await client.call('resources_read', { uri: 'sc://graphs/g@v1' });
    expect(payload).toMatchObject({ graphId: 'g', version: 1, graph: { graphVersion: 1 } });
    const listed = async (args: object): Promise<string[]> =>
      (await client.call('resources_list', args)).items.map(({ uri }: { uri: string }) => uri);
    const versions = ['sc://graphs/g@v1', 'sc://graphs/g@v2', 'sc://graphs/g@v3'];
    expect((await listed({ prefix: 'sc://graphs/g' })).sort()).toEqual(['sc://graphs/g', ...versions]);
    for (const uri of versions) expect(await client.call('resources_read', { uri })).toHaveProperty('payload');
    await client.call('graph_mutate', {
      graph: { graph_id: 'other', nodes: [] },
      operations: [{ op: 'add_node', node: { id: 'x' } }],
    });
    expect(await listed({ prefix: 'sc://graphs/g@v', limit: 3 })).toEqual([...versions].reverse());
    expect(
      (await client.fails('graph_batch_mutate', { graph_id: 'x', operations: [{ op: 'remove_node', id: 'a' }] }))
        .message,
    ).toMatch(/^E-GRAPH-NOT-FOUND: /);
  });

  it('refuses other callers while a graph is locked, and refuses to commit an outdated transaction', async () => {
    const { client } = await startFleet();
    await client.call('graph_batch_mutate', {
      graph_id: 'g',
      expected_version: 0,
      operations: [{ op: 'add_node', node: { id: 'a' } }],
    });
    const tx = await client.call('tx_begin', { graph_id: 'g', owner: 'me' });
    const { lock_id } = await client.call('graph_lock', { graph_id: 'g', holder: 'me', ttl_ms: 60_000 });
    const add = { graph_id: 'g', operations: [{ op: 'add_node', node: { id: 'b' } }] };
    expect(await client.fails('graph_batch_mutate', add)).toMatchObject({ code: -32032, data: { holder: 'me' } });
    expect((await client.fails('graph_lock', { graph_id: 'g', holder: 'you' })).message).toMatch(
      /^E-GRAPH-LOCK-HELD: /,
    );
    const applied = await client.call('tx_apply', {
      tx_id: tx.tx_id,
      operations: [{ op: 'add_node', node: { id: 't' } }],
    });
    expect(applied).toMatchObject({ preview_version: 2, changed: true });
    await client.call('graph_batch_mutate', { ...add, owner: 'me' });
    await client.call('graph_unlock', { lock_id });
    expect((await client.fails('tx_commit', { tx_id: tx.tx_id })).message).toMatch(/^E-GRAPH-VERSION-CONFLICT: /);
    expect(await client.call('tx_rollback', { tx_id: tx.tx_id })).toMatchObject({ version: 1 });
    expect((await client.fails('tx_commit', { tx_id: tx.tx_id })).message).toMatch(/^E-TX-NOT-FOUND: /);
    const snapshot = await client.call('resources_read', { uri: `sc://snapshots/g/${tx.tx_id}` });
    expect(snapshot.payload).toMatchObject({ state: 'rolled_back', baseVersion: 1, owner: 'me' });
  });

  it('repeats the answer for an idempotency key without making a second change', async () => {
    const { client } = await startFleet();
    const args = {
      graph_id: 'g',
      expected_version: 0,
      idempotency_key: 'k',
      operations: [{ op: 'add_node', node: { id: 'a' } }],
    };
    const [one, two] = await Promise.all([
      client.call('graph_batch_mutate', args),
      client.call('graph_batch_mutate', args),
    ]);
    expect([one.idempotent, two.idempotent].sort()).toEqual([false, true]);
    expect(one.committed_version).toBe(1);
    expect(
      (await client.call('graph_diff', { graph_id: 'g', from: { latest: true }, to: { latest: true } })).to.version,
    ).toBe(1);
    const begun = await client.call('tx_begin', { graph_id: 'g' });
    expect([begun.idempotent, begun.idempotency_key]).toEqual([false, null]);
  });

  it('delivers each blackboard change to a watcher once while several callers write', async () => {
    const { client } = await startFleet();
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let i = 0; i < 15; i++) await client.call('bb_set', { key: `w${writer}:${i}`, value: i });
    });
    const seen: number[] = [];
    let start = 0;
    while (seen.length < 60) {
      const { events, next_version } = await client.call('bb_watch', { start_version: start, limit: 7, wait_ms: 5000 });
      seen.push(...events.map(({ version }: { version: number }) => version));
      start = next_version;
    }
    await Promise.all(writers);
    expect(seen).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    expect(
      (
        await client.fails('bb_batch_set', {
          entries: [
            { key: 'a', value: 1 },
            { key: 'b', value: 'x'.repeat(300_000) },
          ],
        })
      ).data.index,
    ).toBe(1);
    expect((await client.fails('bb_get', { key: 'a' })).message).toMatch(/^E-BB-NOTFOUND: /);
    const { payload } = await client.call('resources_read', { uri: 'sc://blackboard/w1' });
    expect(payload.entries).toHaveLength(15);
  });

  it('runs a behaviour tree that calls its own tools, with pause, cancellation and a time limit', async () => {
    const { client } = await startFleet();
    const task = (node_id: string, tool: string, input?: unknown, more: object = {}) => ({
      kind: 'task',
      node_id,
      tool,
      input,
      ...more,
    });
    const tree = {
      id: 't',
      root: {
        kind: 'sequence',
        children: [
          task('a', 'bb_set', { key: 'plan:x', value: 7 }),
          {
            kind: 'guard',
            condition_key: 'bb:plan:x',
            expected: 7,
            child: task('b', 'bb_get', { key: 'plan:x' }, { output_key: 'got' }),
          },
          task('c', 'noop', undefined, { input_key: 'got' }),
        ],
      },
    };
    const done = await client.call('plan_run_bt', { tree, run_id: 'r1' });
    expect(done).toMatchObject({ status: 'success', run_id: 'r1', last_output: { entry: { value: 7 } } });
    expect(done.invocations.map(({ tool }: { tool: string }) => tool)).toEqual(['bb_set', 'bb_get', 'noop']);
    expect(await client.call('plan_status', { run_id: 'r1' })).toMatchObject({ state: 'done', progress: 100 });
    const dry = await client.call('plan_run_bt', {
      tree: { id: 't', root: task('a', 'bb_set', { key: 'dry', value: 1 }) },
      dry_run: true,
    });
    expect(dry.invocations[0].executed).toBe(false);
    const bad = { id: 't', root: task('a', 'plan_run_bt', {}) };
    expect((await client.fails('plan_run_bt', { tree: bad })).message).toMatch(/^E-BT-INVALID: /);
    expect((await client.call('plan_dry_run', { tree: bad })).valid).toBe(false);

    const long = { id: 't', root: task('w', 'wait', { ms: 60_000 }) };
    expect((await client.fails('plan_run_bt', { tree: long, timeout_ms: 50 })).message).toMatch(/^E-BT-RUN-TIMEOUT: /);
    const begun = await client.call('plan_run_reactive', { tree: long, background: true });
    await until(async () => (await client.call('plan_status', { run_id: begun.run_id })).state === 'running');
    expect(await client.call('plan_pause', { run_id: begun.run_id })).toMatchObject({ state: 'paused' });
    expect(await client.call('plan_resume', { run_id: begun.run_id })).toMatchObject({ state: 'running' });
    expect(await client.call('op_cancel', { op_id: begun.op_id })).toMatchObject({ outcome: 'requested' });
    await until(async () => (await client.call('plan_status', { run_id: begun.run_id })).state === 'cancelled');
    expect((await client.fails('plan_status', { run_id: 'nobody' })).message).toMatch(/^E-PLAN-NOT-FOUND: /);
  });

  it('lets a reactive run wait for the blackboard', async () => {
    const { client } = await startFleet();
    const guard = {
      kind: 'guard',
      condition_key: 'bb:go',
      child: { kind: 'task', node_id: 'n', tool: 'noop', input: { ok: 1 } },
    };
    const running = client.call('plan_run_reactive', {
      tree: { id: 't', root: { kind: 'retry', max_attempts: 1000, backoff_ms: 50, child: guard } },
      timeout_ms: 20_000,
    });
    await client.call('bb_set', { key: 'go', value: true });
    expect(await running).toMatchObject({ status: 'success', last_output: { ok: 1 } });
  });

  it('awards a task to the cheapest child, and the next task to another child while the first is busy', async () => {
    const { client } = await startFleet();
    expect((await client.fails('cnp_announce', { task_id: 't' })).message).toMatch(/^E-CNP-NO-BIDS: /);
    const bids = {
      manual_bids: [
        { agent_id: 'a', cost: 10 },
        { agent_id: 'b', cost: 10.5 },
      ],
    };
    const first = await client.call('cnp_announce', { task_id: 't', ...bids });
    expect(first).toMatchObject({ awarded_agent_id: 'a', awarded_effective_cost: 10, idempotency_key: null });
    expect((await client.call('cnp_announce', { task_id: 't2', ...bids })).awarded_agent_id).toBe('b');
    await client.call('cnp_complete', { call_id: first.call_id });
    expect((await client.call('cnp_announce', { task_id: 't3', ...bids })).awarded_agent_id).toBe('a');
  });

  it('keeps pheromones and lets them decay', async () => {
    const { client } = await startFleet();
    const entries = [
      { node_id: 'n', type: ' Busy ', intensity: 2 },
      { node_id: 'n', type: 'busy', intensity: 1 },
    ];
    const { changes } = await client.call('stig_batch', { entries });
    expect(changes[1]).toMatchObject({ point: { type: 'busy', intensity: 3 }, node_total: { intensity: 3 } });
    expect((await client.fails('stig_mark', { node_id: 'n', type: '  ', intensity: 1 })).message).toMatch(
      /^E-STIG-TYPE: /,
    );
    const { points } = await client.call('stig_snapshot');
    expect(points).toHaveLength(1);
  });

  it('refuses unknown fields, and names them', async () => {
    const { client } = await startFleet();
    const wrong = await client.fails('graph_mutate', {
      graph: { ...noNodes, nodes: [{ id: 'a', extra: 1 }] },
      operations: [],
    });
    expect(wrong.code).toBe(-32602);
    expect(JSON.stringify(wrong.data)).toContain('graph.nodes[0].extra');
  });
});
