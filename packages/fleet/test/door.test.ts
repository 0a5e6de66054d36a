import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { startSocketUpstream } from '../../../test/helpers/fake-socket-upstream.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { openSocket } from '../../../test/helpers/socket-client.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import { Client, children, FLEET_ENV } from './helpers.ts';

const GRACE_MS = 20_000;
const OUTPUT = serverLog(400);
const QUESTION = 'Why does the checkout fail?';

/** Starts a child that does nothing but live, and tells the test its address. */
async function idleChild(client: Client, limits?: object): Promise<{ readonly id: string; readonly url: string }> {
  const file = join(tempFolder(), 'address');
  const script = `require('node:fs').writeFileSync(process.argv[1], process.env.ANTHROPIC_BASE_URL); setInterval(() => {}, 1000)`;
  const args = ['-e', script, file];
  const made = await client.call('child_create', { command: process.execPath, args, ...(limits && { limits }) });
  const url = await until(() => {
    try {
      return readFileSync(file, 'utf8') || null; // made, and not yet written
    } catch {
      return null;
    }
  });
  return { id: made.child_id, url };
}

function frame(type: string, more: object = {}): string {
  const input = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: QUESTION }] },
    { type: 'function_call', call_id: 'c', name: 'shell', arguments: '{"command":"npm start"}' },
    { type: 'function_call_output', call_id: 'c', output: OUTPUT },
  ];
  return JSON.stringify({ type, model: 'gpt-test', input, store: false, ...more });
}

/** A provider that answers each request in a frame, and says what it cost. */
async function startFrames(limits?: object) {
  const upstream = await startSocketUpstream();
  upstream.onMessage = (socket) => {
    const usage = { input_tokens: 30, input_tokens_details: { cached_tokens: 0 }, output_tokens: 10 };
    socket.send(JSON.stringify({ type: 'response.created', response: { id: 'r', usage: null } }));
    socket.send(JSON.stringify({ type: 'response.completed', response: { id: 'r', model: 'gpt-test', usage } }));
  };
  const env = { ...FLEET_ENV, MCP_PRUNER_CHILDREN: children(GRACE_MS) };
  const proxy = await startProxy(upstream.url, { env });
  const client = new Client(proxy.url);
  const child = await idleChild(client, limits);
  return { upstream, proxy, client, child };
}

describe('a WebSocket of a child', () => {
  it('is pruned, has its usage counted as the provider reports it, and is attributed to the child', async () => {
    const { upstream, proxy, client, child } = await startFrames();
    const socket = await openSocket(child.url);
    socket.socket.send(frame('response.create'));
    await socket.received(2);
    expect(upstream.last.request.url).toBe('/v1/responses');
    expect(JSON.stringify(upstream.last.request.rawHeaders)).not.toContain('child');
    expect(upstream.last.messages[0]?.length).toBeLessThan(OUTPUT.length / 2);
    const usage = await until(async () => {
      const now = (await client.call('child_status', { child_id: child.id })).usage;
      return now.tokens > 0 && now;
    });
    expect(usage).toMatchObject({ messages: 1, tokens_in: 30, tokens_out: 10 });
    await until(async () => {
      const { events } = await client.call('events_watch', { from_seq: 0, limit: 200 });
      return events.some(({ kind, childId }: Record<string, unknown>) => kind === 'request' && childId === child.id);
    });
    expect(await proxy.logText()).not.toContain(child.url.slice(-32));
  });

  it('blocks requests beyond a limit in any JSON spelling, and still passes other messages', async () => {
    const { upstream, client, child } = await startFrames({ messages: 1 });
    const socket = await openSocket(child.url);
    socket.socket.send(frame('response.create'));
    await socket.received(2);
    const beyond = [
      frame('response.create'),
      frame('x').replace('{', '{"type":"other",').replace('"x"', '"response.create"'),
      frame('x').replace('"x"', '"response.\\u0063reate"'),
      'no JSON',
    ];
    for (const text of beyond) socket.socket.send(text);
    socket.socket.send(Buffer.from(frame('response.create')), { binary: true });
    socket.socket.send(JSON.stringify({ type: 'response.cancel' }));
    const answers = (await socket.received(7 + 2)).map((message) => JSON.parse(message.toString('utf8')));
    const refused = answers.filter(({ type }) => type === 'error');
    expect(refused).toHaveLength(5);
    expect(refused[0]).toMatchObject({ status: 403, error: { type: 'child_limit_exceeded', code: 'messages' } });
    expect(upstream.last.messages.map(String).slice(1)).toEqual(['{"type":"response.cancel"}']);
    const { events } = await client.call('events_watch', { from_seq: 0, limit: 200 });
    expect(events.filter(({ kind }: { kind: string }) => kind === 'child_limit_exceeded')).toHaveLength(1);
  });

  it('closes when its child ends, and is refused for an unknown token', async () => {
    const { upstream, client, child } = await startFrames();
    const socket = await openSocket(child.url);
    await client.call('child_kill', { child_id: child.id });
    socket.socket.send(frame('response.create'));
    const [answer] = await socket.received(1);
    expect(JSON.parse(String(answer))).toMatchObject({ type: 'error', error: { type: 'child_ended' } });
    expect(upstream.last.messages).toEqual([]);
    for (const url of [child.url, child.url.replace(/.{32}$/, 'f'.repeat(32))]) {
      await expect(openSocket(url)).rejects.toThrow('403');
    }
    expect(upstream.connections).toHaveLength(1);
  });
});

describe('the proxy address of a child', () => {
  it('forwards to Gemini, and counts the requests', async () => {
    const usageMetadata = { promptTokenCount: 50, candidatesTokenCount: 5, thoughtsTokenCount: 2 };
    const upstream = await startUpstream((_request, res) => json(res, 200, { candidates: [], usageMetadata }));
    const env = { ...FLEET_ENV, MCP_PRUNER_GEMINI_URL: upstream.url, MCP_PRUNER_CHILDREN: children(GRACE_MS) };
    const client = new Client((await startProxy(upstream, { env })).url);
    const { id, url } = await idleChild(client, { messages: 1 });
    const ask = async (method: string) => {
      const body = JSON.stringify({ contents: [{ role: 'user', parts: [{ text: QUESTION }] }] });
      const headers = { 'content-type': 'application/json', 'x-goog-api-key': 'of-the-child' };
      return (await fetch(`${url}/v1beta/models/gemini-3:${method}`, { method: 'POST', headers, body })).status;
    };
    expect([await ask('countTokens'), await ask('generateContent'), await ask('streamGenerateContent')]).toEqual([
      200, 200, 403,
    ]);
    expect(upstream.requests.map((request) => request.url.split(':')[1])).toEqual(['countTokens', 'generateContent']);
    const usage = await until(async () => {
      const now = (await client.call('child_status', { child_id: id })).usage;
      return now.tokens > 0 && now;
    });
    expect(usage).toMatchObject({ messages: 1, tokens_in: 50, tokens_out: 7 });
  });

  it('serves no other routes, and refuses batches, because their cost could not be limited', async () => {
    const upstream = await startUpstream((_request, res) => json(res, 200, {}));
    const client = new Client((await startProxy(upstream, { env: FLEET_ENV })).url);
    const { url } = await idleChild(client);
    const post = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(`${url}${path}`, { method: 'POST', headers, body: '{}' })).status;
    for (const path of [
      '/metrics',
      '/page/api/usage',
      '/prune',
      '/',
      '/child/x/v1/responses',
      '/k/mpk_x/v1/responses',
    ]) {
      expect(await post(path), path).toBe(404);
    }
    for (const path of ['/messages/batches', '/b%61tches', '/models/m:batchGenerateContent']) {
      expect(await post(`/v1${path}`), path).toBe(404);
    }
    const token = url.slice(-32);
    const byField = await fetch(new URL('/rpc', url), { method: 'POST', headers: { 'x-mcp-pruner-child': token } });
    expect(byField.status).toBe(404);
    expect(upstream.requests).toEqual([]);
  });
});
