import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it } from 'vitest';
import { afterwards, tempFolder } from '../../../test/helpers/afterwards.ts';
import { coldProgram } from '../../../test/helpers/built.ts';
import { startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { until } from '../../../test/helpers/until.ts';
import { environment } from '../../stdio/test/helpers/client.ts';
import { AGENT, children } from './helpers.ts';

/** `mcp-pruner stdio --enable-fleet` as the official client starts it. */
async function startStdio() {
  const upstream = await startUpstream((_request, res) => {
    const usage = { prompt_tokens: 30, completion_tokens: 10 };
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'fine' } }], usage }));
  });
  const folder = tempFolder();
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [coldProgram(), 'stdio', '--enable-fleet'],
    env: environment({
      HOME: folder,
      MCP_PRUNER_DB_PATH: join(folder, 'store.db'),
      MCP_PRUNER_UPSTREAM_URL: `${upstream.url}/v1`,
      MCP_PRUNER_CHILDREN: children(),
    }),
    cwd: folder,
    stderr: 'pipe',
  });
  const client = new Client({ name: 'test', version: '1.0.0' });
  afterwards(() => client.close());
  await client.connect(transport);
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { content } = await client.callTool({ name, arguments: args });
    return JSON.parse((content as readonly { text: string }[])[0]?.text ?? 'null');
  };
  const agent = (orders: readonly unknown[], more: Record<string, unknown>) =>
    call('child_create', { command: process.execPath, args: [AGENT], prompt: JSON.stringify(orders), ...more });
  return { client, call, agent, upstream };
}

describe('a fleet over stdio', () => {
  it('starts children that reach the model and tools through its own proxy, and ends them when it ends', async () => {
    const { client, call, agent, upstream } = await startStdio();
    const orders = [
      ['ask', 'one'],
      ['tool', 'bb_set', { key: 'f:1', value: 1 }],
      ['ask', 'two'],
      ['ask', 'three'],
      ['stay'],
    ];
    await agent(orders, { child_id: 'c', limits: { messages: 2 } });
    const stays = await agent([['stay']], { child_id: 's' });
    const ended = await call('child_status', { child_id: 'c', wait_ms: 20_000 });
    expect(ended).toMatchObject({ stop_reason: 'limit:messages', usage: { messages: 2, tokens: 80 } });
    expect(upstream.requests).toHaveLength(2);
    expect(await call('bb_get', { key: 'f:1' })).toMatchObject({ entry: { value: 1 } });
    await client.close();
    await until(() => {
      try {
        return !process.kill(stays.pid, 0);
      } catch {
        return true;
      }
    });
  });
});
