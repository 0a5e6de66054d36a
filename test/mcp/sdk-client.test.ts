import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PROTOCOL_VERSIONS } from '../../src/mcp/initialize.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { goals } from './helpers/fake-pruner.ts';
import { pruneArgs, type RpcServer, startRpcServer } from './helpers/rpc-server.ts';

async function connect(url: URL): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  // its class declares `sessionId?: string | undefined`, which exactOptionalPropertyTypes tells from its own interface
  await client.connect(new StreamableHTTPClientTransport(url) as Parameters<Client['connect']>[0]);
  onTestFinished(() => client.close());
  return client;
}

async function textOf(client: Client, name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { content } = await client.callTool({ name, arguments: args });
  const [first] = content as readonly { text: string }[];
  return JSON.parse(first?.text ?? 'null') as Record<string, unknown>;
}

describe('the official MCP client over Streamable HTTP', () => {
  it('connects, lists tools, calls them and pings', async () => {
    const { url } = await startRpcServer();
    const client = await connect(url);
    expect(client.getServerVersion()).toMatchObject({ name: 'mcp-pruner', version: '0.1.0' });
    expect(client.getInstructions()).toContain('recover_text');
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['prune_text', 'recover_text', 'health']);
    expect((await client.listResources()).resources).toEqual([]);
    expect((await client.listPrompts()).prompts).toEqual([]);

    const { prune_id, pruned_text } = await textOf(client, 'prune_text', pruneArgs());
    expect(pruned_text).toContain(`prune_id=${prune_id} lignes 2-3 (2)`);
    const ranges = [{ start_line: 2, end_line: 3 }];
    expect(await textOf(client, 'recover_text', { prune_id, ranges, include_line_numbers: false })).toMatchObject({
      raw_text: 'L2\nL3',
    });
    await client.ping();
  });

  it('finds the same tools at /mcp, where MCP clients look by default', async () => {
    const proxy = await startProxy(await startUpstream());
    const tools = async (path: string): Promise<readonly string[]> => {
      const client = await connect(new URL(path, proxy.url));
      return (await client.listTools()).tools.map(({ name }) => name);
    };
    const found = await tools('/mcp');
    expect(found).toContain('recover_text');
    expect(found).toEqual(await tools('/rpc'));
  });

  it('receives the code and data of an error', async () => {
    const { url } = await startRpcServer();
    const client = await connect(url);
    const args = { prune_id: 'prn_gone', ranges: [], include_line_numbers: false };
    await expect(client.callTool({ name: 'recover_text', arguments: args })).rejects.toMatchObject({
      code: -32004,
      data: { code: 'prune_id_not_found', prune_id: 'prn_gone', hint: expect.any(String) },
    });
    await expect(client.callTool({ name: 'recover_text', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });

  it('stops its running tool call when it closes', async () => {
    const { url, pruner }: RpcServer = await startRpcServer();
    const client = await connect(url);
    const running = client.callTool({ name: 'prune_text', arguments: pruneArgs({ goal_hint: goals.hang }) });
    const outcome = expect(running).rejects.toThrow();
    await pruner.hanging;
    await client.close();
    await pruner.aborted;
    await outcome;
  });

  it('uses only protocol versions that this server supports', () => {
    expect(PROTOCOL_VERSIONS).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
  });
});
