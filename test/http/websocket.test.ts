import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { run } from '../cli/fake-io.ts';
import { type FakeSocketUpstream, startSocketUpstream } from '../helpers/fake-socket-upstream.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { openSocket, type SocketClient } from '../helpers/socket-client.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

const MB = 1024 * 1024;

interface Joined {
  readonly upstream: FakeSocketUpstream;
  readonly proxy: TestProxy;
  readonly client: SocketClient;
}

async function joined(options: Parameters<typeof startSocketUpstream>[0] = {}): Promise<Joined> {
  const upstream = await startSocketUpstream(options);
  const proxy = await startProxy(upstream.url);
  return { upstream, proxy, client: await openSocket(proxy.url) };
}

/** An answer as the provider sends it: created, one item, completed. */
function answerEvents(id: string, item: object = { type: 'message', content: [] }): string[] {
  const usage = { input_tokens: 900, input_tokens_details: { cached_tokens: 800 }, output_tokens: 7 };
  return [
    { type: 'response.created', response: { id } },
    { type: 'response.output_item.done', item },
    { type: 'response.completed', response: { id, usage } },
  ].map((event) => JSON.stringify(event));
}

function answer(socket: WebSocket, id: string): void {
  for (const event of answerEvents(id)) socket.send(event);
}

function request(items: readonly object[], more: object = {}): string {
  return JSON.stringify({ type: 'response.create', model: 'gpt-test', input: items, store: false, ...more });
}

function call(id: string, output: string): object[] {
  return [
    { type: 'function_call', call_id: id, name: 'shell', arguments: '{"command":"npm start"}' },
    { type: 'function_call_output', call_id: id, output },
  ];
}

const QUESTION = {
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text: 'Why does the checkout fail?' }],
};

describe('a WebSocket on /v1/responses', () => {
  it('passes header fields, subprotocol, text and binary messages both ways, byte for byte', async () => {
    const upstream = await startSocketUpstream();
    const proxy = await startProxy(upstream.url);
    upstream.onMessage = (socket, message, isBinary) => socket.send(message, { binary: isBinary });
    const headers = { Authorization: 'Bearer sk-test', 'OpenAI-Beta': 'responses_websockets=2026-02-06', 'X-Two': 'a' };
    const client = await openSocket(proxy.url, { headers }, ['first', 'second']);
    expect(client.socket.protocol).toBe('second');
    expect(client.answer?.headers).toMatchObject({ 'x-request-id': 'req_upstream', 'x-models-etag': 'W/"1"' });
    expect(upstream.last.request.url).toBe('/v1/responses');
    expect(upstream.last.request.headers).toMatchObject({
      authorization: 'Bearer sk-test',
      'openai-beta': 'responses_websockets=2026-02-06',
      'x-two': 'a',
      host: `127.0.0.1:${upstream.port}`,
    });
    const text = '{"type":"response.cancel" , "x":"é⟦"}';
    const bytes = randomBytes(70_000);
    client.socket.send(text);
    client.socket.send(bytes);
    client.socket.send('');
    const [first, second, third] = await client.received(3);
    expect(first?.toString()).toBe(text);
    expect(second?.equals(bytes)).toBe(true);
    expect(third).toHaveLength(0);
  });

  it('reports its requests as shadow once their project is in shadow mode', async () => {
    const { upstream, proxy, client } = await joined();
    upstream.onMessage = (socket) => answer(socket, 'r');
    const env = { MCP_PRUNER_DB_PATH: proxy.dbPath };
    await run(['projects', 'set', 'default', '--mode', 'shadow'], { env, clock: { nowMs: () => Date.now() } });
    let sent = 0;
    await until(async () => {
      client.socket.send(request([QUESTION]));
      const lines = await proxy.requestLines(++sent);
      return lines.at(-1)?.shadow === true;
    });
  });

  it('passes messages of 16 MiB and messages in many fragments, in order', async () => {
    const { upstream, client } = await joined();
    const large = Buffer.alloc(16 * MB, 'abcdefgh');
    client.socket.send(large, { binary: false });
    for (let i = 0; i < 200; i++) client.socket.send('piece', { fin: i === 199, binary: false });
    client.socket.send('{"type":"last"}');
    const { messages } = await until(() => upstream.last.messages.length === 3 && upstream.last, 30_000);
    expect(digest(messages[0])).toBe(digest(large));
    expect(messages.slice(1).map(String)).toEqual(['piece'.repeat(200), '{"type":"last"}']);
    upstream.last.socket.send(large, { binary: true });
    expect(digest((await client.received(1))[0])).toBe(digest(large));
  });

  it('passes pings and pongs to the other end, and answers none of them itself', async () => {
    const { upstream, client } = await joined({ autoPong: false });
    const atUpstream = once(upstream.last.socket, 'ping');
    client.socket.ping('are you there?');
    expect(String((await atUpstream)[0])).toBe('are you there?');
    const atClient = once(client.socket, 'pong');
    upstream.last.socket.pong('yes');
    expect(String((await atClient)[0])).toBe('yes');
  });

  it('does not block the event loop during a flood of pings', async () => {
    const { upstream, client } = await joined({ autoPong: false });
    let pings = 0;
    upstream.last.socket.on('ping', () => pings++);
    for (let i = 0; i < 2_000; i++) client.socket.ping('x');
    let turns = 0;
    for (; pings < 2_000; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(turns).toBeGreaterThan(1_500);
  });

  it.each([
    [1000, 'done'],
    [4001, 'é and more'],
    [1012, ''],
  ])('passes the close code %i and its reason both ways', async (code, reason) => {
    const one = await joined();
    one.client.socket.send('{"type":"before"}');
    one.client.socket.close(code, reason);
    expect(await one.upstream.last.closed).toEqual([code, reason]);
    expect(one.upstream.last.messages.map(String)).toEqual(['{"type":"before"}']);
    const client = await openSocket(one.proxy.url);
    one.upstream.last.socket.close(code, reason);
    expect(await client.closed).toEqual([code, reason]);
  });

  it('ends like the other side: without a close code, or by an abrupt disconnect', async () => {
    const { upstream, proxy, client } = await joined();
    client.socket.close();
    expect(await upstream.last.closed).toEqual([1005, '']);
    const second = await openSocket(proxy.url);
    second.socket.terminate();
    expect(await upstream.last.closed).toEqual([1006, '']);
    const third = await openSocket(proxy.url);
    upstream.last.socket.terminate();
    expect(await third.closed).toEqual([1006, '']);
  });

  it('ends the client’s connection at once when the upstream sends a broken frame', async () => {
    const { upstream, client } = await joined();
    upstream.last.socket.pause(); // it never agrees to the end
    // an opcode that RFC 6455 reserves
    upstream.last.request.socket.write(Buffer.from([0x83, 0x00]));
    const timeout = new Promise((resolve) => setTimeout(resolve, 25_000, 'still open').unref());
    expect(await Promise.race([client.closed, timeout])).toEqual([1006, '']);
  });

  it('slows down the upstream if the client does not read, without data loss', async () => {
    const { upstream, client } = await joined({ perMessageDeflate: false });
    client.socket.pause();
    const piece = Buffer.alloc(256 * 1024, 'x');
    let sent = 0;
    const { socket } = upstream.last;
    for (; sent < 400; sent++) socket.send(piece); // 100 MB
    await until(async () => {
      const before = socket.bufferedAmount;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return socket.bufferedAmount === before;
    });
    expect(socket.bufferedAmount).toBeGreaterThan(50 * MB); // the proxy did not take it
    client.socket.resume();
    expect(await client.received(sent)).toHaveLength(sent);
  });

  it.each([
    [404, 'no such thing'],
    [426, '{"error":"upgrade required"}'],
    [401, '{"error":{"message":"Incorrect API key"}}'],
    [200, 'odd'],
  ])('answers with the %i of an upstream that refuses WebSockets', async (status, body) => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(status, 'As Told', { 'x-request-id': 'req_1', 'content-type': 'text/plain' }).end(body);
    });
    const proxy = await startProxy(upstream);
    const socket = new WebSocket(`${proxy.url.replace('http', 'ws')}/v1/responses`);
    socket.on('error', () => {});
    const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    expect([answer.statusCode, answer.statusMessage]).toEqual([status, 'As Told']);
    expect(answer.headers).toMatchObject({ 'x-request-id': 'req_1', 'content-type': 'text/plain' });
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toBe(body);
    const health = (await (await fetch(`${proxy.url}/health`)).json()) as Record<string, unknown>;
    expect(health.not_understood).toEqual({ websocket_not_opened: 1 });
  });

  it('answers with a 502 if the upstream cannot be reached', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    await upstream.close();
    const socket = new WebSocket(`${proxy.url.replace('http', 'ws')}/v1/responses`);
    socket.on('error', () => {});
    const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    expect(answer.statusCode).toBe(502);
    answer.resume();
  });

  it('is refused at any other path, and counted', async () => {
    const upstream = await startUpstream((_request, res) => json(res, 200, {}));
    const proxy = await startProxy(upstream);
    for (const path of ['/v1/realtime', '/rpc', '/v1/chat/completions']) {
      const socket = new WebSocket(`${proxy.url.replace('http', 'ws')}${path}`);
      socket.on('error', () => {});
      const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
      expect(answer.statusCode).toBe(426);
      answer.resume();
    }
    expect(upstream.requests).toEqual([]);
    const health = (await (await fetch(`${proxy.url}/health`)).json()) as Record<string, unknown>;
    expect(health.not_understood).toEqual({ upgrade_refused: 3 });
    expect((await proxy.logLines()).filter(({ reason }) => reason === 'upgrade_refused')).toHaveLength(3);
    const page = await (await fetch(`${proxy.url}/metrics`)).text();
    expect(page).toMatch(/fallback[^\n]*upgrade_refused[^\n]* 3/);
  });

  it('from a foreign page is bridged unread', async () => {
    const upstream = await startSocketUpstream();
    const proxy = await startProxy(upstream.url);
    const client = await openSocket(proxy.url, { headers: { origin: 'https://evil.example' } });
    const frame = request([QUESTION, ...call('call_1', serverLog(900))]);
    client.socket.send(frame);
    const { messages } = await until(() => upstream.last.messages.length === 1 && upstream.last);
    expect(messages[0]?.toString()).toBe(frame);
    expect((await proxy.logLines()).filter(({ msg }) => msg === 'model request')).toEqual([]);
  });

  it('ends with 1001 once the proxy stops and no answer is in progress', async () => {
    const { upstream, proxy, client } = await joined();
    client.socket.send(request([QUESTION]));
    await until(() => upstream.last.messages.length === 1);
    const stopped = proxy.stop();
    await until(async () => (await fetch(`${proxy.url}/health`).catch(() => null)) === null).catch(() => {});
    answer(upstream.last.socket, 'resp_1');
    expect(await client.received(3)).toHaveLength(3);
    expect(await client.closed).toEqual([1001, 'shutting down']);
    await stopped;
  });
});

describe('requests in WebSocket frames', () => {
  it("are pruned, each logged with the provider's usage", async () => {
    const { upstream, proxy, client } = await joined();
    upstream.onMessage = (socket) => answer(socket, 'resp_1');
    const frame = request([QUESTION, ...call('call_1', serverLog(900))]);
    client.socket.send(frame);
    expect((await client.received(3)).map(String)).toEqual(answerEvents('resp_1'));
    const sent = upstream.last.messages[0]?.toString() ?? '';
    expect(sent.length).toBeLessThan(frame.length / 2);
    expect(sent).toContain('⟦PRUNÉ:');
    expect(JSON.parse(sent)).toMatchObject({ type: 'response.create', store: false });
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({
      wire: 'responses',
      model: 'gpt-test',
      status: 200,
      pruned: 1,
      promptTokens: 900,
      cachedTokens: 800,
      bytesIn: Buffer.byteLength(frame),
      bytesOut: Buffer.byteLength(sent),
    });
  });

  it.each([
    [400, { type: 'error', status: 400, error: { message: 'no' } }],
    [200, { type: 'response.failed', response: { id: 'r', error: { code: 'invalid_prompt', message: 'no' } } }],
  ])('are sent once more unpruned if the provider refuses the cuts: %i %o', async (status, event) => {
    const { upstream, proxy, client } = await joined();
    const refusal = JSON.stringify(event);
    upstream.onMessage = (socket, message) => {
      if (message.includes('⟦PRUNÉ:')) socket.send(refusal);
      else answer(socket, 'resp_1');
    };
    const frame = request([QUESTION, ...call('call_1', serverLog(900))]);
    client.socket.send(frame);
    expect((await client.received(3)).map(String)).toEqual(answerEvents('resp_1'));
    expect(upstream.last.messages[1]?.toString()).toBe(frame);
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ fallbacks: [`upstream_refused_${status}`], status: 200, tokensSaved: 0 });
  });

  it.each([
    { type: 'error', status: 400, error: { code: 'previous_response_not_found' } },
    { type: 'error', status: 401, error: { type: 'invalid_request_error', code: 'invalid_api_key' } },
    { type: 'response.failed', response: { id: 'r', error: { code: 'server_error', message: 'no' } } },
  ])('pass on other errors, without giving up pruning: %o', async (event) => {
    const { upstream, client } = await joined();
    const refusal = JSON.stringify(event);
    upstream.onMessage = (socket) => socket.send(refusal);
    const frame = request([QUESTION, ...call('call_1', serverLog(900))]);
    client.socket.send(frame);
    expect((await client.received(1)).map(String)).toEqual([refusal]);
    client.socket.send(frame);
    await client.received(2);
    expect(upstream.last.messages.map((message) => message.includes('⟦PRUNÉ:'))).toEqual([true, true]);
  });

  it('that are not understood pass unchanged, and are counted', async () => {
    const { upstream, proxy, client } = await joined();
    const frames = ['{"type":"response.create","input":[{]}', '{"no":"type"}', 'no JSON', request([], { input: 7 })];
    for (const frame of frames) client.socket.send(frame);
    const { messages } = await until(() => upstream.last.messages.length === frames.length && upstream.last);
    expect(messages.map(String)).toEqual(frames);
    const health = (await (await fetch(`${proxy.url}/health`)).json()) as Record<string, unknown>;
    expect(health.not_understood).toMatchObject({ frame_not_understood: 1 });
  });

  it('that are not understood are logged once per connection', async () => {
    const { upstream, proxy, client } = await joined();
    for (let i = 0; i < 200; i++) client.socket.send('x');
    await until(() => upstream.last.messages.length === 200);
    const lines = (await proxy.logLines()).filter(({ reason }) => reason === 'frame_not_understood');
    expect(lines).toHaveLength(1);
  });

  it('stay whole if the connection has the header x-mcp-pruner: off', async () => {
    const upstream = await startSocketUpstream();
    const proxy = await startProxy(upstream.url);
    const client = await openSocket(proxy.url, { headers: { 'x-mcp-pruner': 'off' } });
    const frame = request([QUESTION, ...call('call_1', serverLog(900))]);
    client.socket.send(frame);
    const { messages } = await until(() => upstream.last.messages.length === 1 && upstream.last);
    expect(messages[0]?.toString()).toBe(frame);
    expect(upstream.last.request.headers['x-mcp-pruner']).toBeUndefined();
  });

  it('of forty turns are all forwarded over one connection', async () => {
    const { upstream, proxy, client } = await joined();
    upstream.onMessage = (socket) => answer(socket, 'resp_x');
    for (let turn = 0; turn < 40; turn++) {
      client.socket.send(request(call(`call_${turn}`, serverLog(60, turn)), { previous_response_id: `resp_${turn}` }));
      await client.received(3);
      client.messages.length = 0;
    }
    expect(upstream.last.messages).toHaveLength(40);
    expect((await proxy.requestLines(40)).slice(-1)).toMatchObject([{ status: 200, promptTokens: 900 }]);
    expect(upstream.connections).toHaveLength(1);
  });
});

function digest(bytes: Buffer | undefined): string {
  return createHash('sha256')
    .update(bytes ?? '')
    .digest('hex');
}
