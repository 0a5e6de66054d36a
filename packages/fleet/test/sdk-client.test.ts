import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it } from 'vitest';
import { afterwards } from '../../../test/helpers/afterwards.ts';
import { startFleet, TOKEN } from './helpers.ts';

async function connect(url: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/rpc`), { requestInit });
  // its class declares `sessionId?: string | undefined`, which exactOptionalPropertyTypes tells from its own interface
  await client.connect(transport as Parameters<Client['connect']>[0]);
  afterwards(() => client.close());
  return client;
}

const FAMILIES = /^(?:child|graph|tx|bb|stig|plan|op|cnp)_/;

describe('the official MCP client with the fleet', () => {
  it('lists every tool with a description, a strict schema and all four hints', async () => {
    const { proxy } = await startFleet();
    const client = await connect(proxy.url);
    const tools = (await client.listTools()).tools.filter(({ name }) => FAMILIES.test(name));
    expect(tools).toHaveLength(41);
    for (const { name, description = '', inputSchema, annotations = {} } of tools) {
      expect(description.length, name).toBeGreaterThan(20);
      expect(inputSchema, name).toMatchObject({ type: 'object', additionalProperties: false });
      const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
      for (const hint of [readOnlyHint, destructiveHint, idempotentHint, openWorldHint])
        expect(typeof hint, name).toBe('boolean');
      expect(readOnlyHint && destructiveHint, name).toBe(false);
    }
    const reads = tools.filter(({ annotations }) => annotations?.readOnlyHint).map(({ name }) => name);
    expect(reads.sort()).toEqual([
      ...['bb_get', 'bb_query', 'bb_watch', 'child_list', 'child_status', 'graph_diff'],
      ...['plan_dry_run', 'plan_status', 'stig_snapshot'],
    ]);
  });

  it('uses a graph, the blackboard and a plan, and receives the details of an error', async () => {
    const { proxy } = await startFleet();
    const client = await connect(proxy.url);
    const call = async (name: string, args: Record<string, unknown>) => {
      const { content } = await client.callTool({ name, arguments: args });
      return JSON.parse((content as readonly { text: string }[])[0]?.text ?? 'null');
    };
    const graph = { graph_id: 'g', nodes: [{ id: 'a' }], edges: [] };
    const add = (id: string) => [{ op: 'add_node', node: { id } }];
    expect(await call('graph_mutate', { graph, operations: add('b') })).toMatchObject({ committed_version: 1 });
    const root = { kind: 'task', node_id: 'a', tool: 'bb_set', input: { key: 'f:1', value: { found: 3 } } };
    expect(await call('plan_run_bt', { tree: { id: 't', root } })).toMatchObject({ status: 'success' });
    expect(await call('bb_get', { key: 'f:1' })).toMatchObject({ entry: { value: { found: 3 } } });
    const late = { graph_id: 'g', expected_version: 9, operations: add('c') };
    await expect(client.callTool({ name: 'graph_batch_mutate', arguments: late })).rejects.toMatchObject({
      code: -32031,
      data: { code: 'E-GRAPH-VERSION-CONFLICT', expected: 9, found: 1 },
    });
  });
});

describe('a reason given by the caller', () => {
  it('is kept in the log of a cancelled child, and in the state of a cancelled run', async () => {
    const { client } = await startFleet();
    await client.agent([['stay']], { child_id: 'c' });
    const ended = await client.call('child_cancel', { child_id: 'c', reason: 'the file is gone' });
    expect(ended.stop_reason).toBe('cancelled');
    const { payload } = await client.call('resources_read', { uri: ended.logs_uri });
    expect(payload.logs.map(({ message }: { message: string }) => message)).toContain(
      'stopping: cancelled (the file is gone)',
    );
    const tree = { id: 't', root: { kind: 'task', node_id: 'n', tool: 'wait', input: { ms: 60_000 } } };
    const { run_id } = await client.call('plan_run_bt', { tree, background: true });
    const status = async () => client.call('plan_status', { run_id });
    await client.call('plan_cancel', { run_id, reason: 'no longer needed' });
    await expect.poll(status).toMatchObject({ state: 'cancelled', reason: 'no longer needed' });
    const events = JSON.stringify(await client.call('events_watch', { from_seq: 0, limit: 200 }));
    expect(events).not.toMatch(/no longer needed|the file is gone/);
  });
});
