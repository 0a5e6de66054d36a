import { describe, expect, it } from 'vitest';
import { chatBody, contentAt, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../helpers/messages.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

describe('the proxy leaves whole', () => {
  it("results of Anthropic's memory tool", async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const send = async (name: string, input: { readonly command: string; readonly path: string }): Promise<boolean> => {
      const body = messagesBody(oneCall(serverLog(200, 1), { name, input }));
      await (await fetch(`${proxy.url}/v1/messages`, { method: 'POST', body: new Uint8Array(body) })).text();
      return upstream.last.body.equals(body);
    };
    expect(await send('memory', { command: 'view', path: '/memories/server.log' })).toBe(true);
    expect(await send('view_file', { command: 'view', path: '/memories/server.log' })).toBe(false);
  });

  it('a request whose header switches pruning off, and logs its model', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const body = chatBody(oneResult(serverLog(200, 1)));
    const { model } = JSON.parse(body.toString()) as { readonly model: string };
    await (await proxy.chat(body, { 'x-mcp-pruner': 'off' })).text();
    expect(upstream.last.body.equals(body)).toBe(true);
    const line = await until(async () => (await proxy.logLines()).find(({ status }) => status === 200));
    expect([line.model, model]).toEqual([model, expect.stringMatching(/./)]);
  });

  it('outputs below a minimum size that the user has raised', async () => {
    const short = serverLog(60, 1);
    const sent = async (env: Readonly<Record<string, string>>): Promise<string> => {
      const upstream = await startUpstream();
      const proxy = await startProxy(upstream, { env });
      await (await proxy.chat(chatBody(oneResult(short)))).text();
      return contentAt(upstream.last.body, -1);
    };
    expect(short.length).toBeLessThan(4_000);
    expect(await sent({})).not.toBe(short);
    expect(await sent({ MCP_PRUNER_MIN_PRUNE_CHARS: '100000' })).toBe(short);
  });
});
