import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { listen, type Routes } from '../../src/proxy/server.ts';
import { Destinations, Upstreams } from '../../src/proxy/upstream/destinations.ts';
import { LoopGuard } from '../../src/proxy/upstream/headers.ts';
import { type Answer, json, startUpstream } from '../helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../helpers/messages.ts';
import { settingsOf, startProxy, type TestProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';

const CALL = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'shell',
  arguments: '{"command":"npm start"}',
};
const ANSWER = { id: 'resp_1', object: 'response', output: [CALL], usage: { input_tokens: 10, output_tokens: 5 } };
const QUESTION = { type: 'message', role: 'user', content: 'Why does the checkout fail for some customers?' };

function post(proxy: TestProxy, path: string, body: Buffer, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${proxy.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
}

const bodyOf = (fields: object): Buffer => Buffer.from(JSON.stringify({ model: 'gpt-test', ...fields }));
const output = (id: string, text: string): object => ({ type: 'function_call_output', call_id: id, output: text });

describe('responses/compact', () => {
  it('repeats texts as they were sent, and makes no new decision', async () => {
    const upstream = await startUpstream((_request, res) => json(res, 200, ANSWER));
    const proxy = await startProxy(upstream);
    const input = [QUESTION, CALL, output('call_1', serverLog(200))];
    await post(proxy, '/v1/responses', bodyOf({ input }));
    const [sent] = (JSON.parse(upstream.last.body.toString()) as { input: { output?: string }[] }).input.slice(-1);
    expect(sent?.output).toContain('PRUN');
    const fresh = output('call_2', serverLog(300));
    await post(proxy, '/v1/responses/compact', bodyOf({ input: [...input, { ...CALL, call_id: 'call_2' }, fresh] }));
    expect(upstream.last.url).toBe('/v1/responses/compact');
    const compacted = (JSON.parse(upstream.last.body.toString()) as { input: unknown[] }).input;
    expect(compacted[2]).toEqual(sent);
    expect(compacted[4]).toEqual(fresh);
    const [, line] = await proxy.requestLines(2);
    expect(line).toMatchObject({ wire: 'responses', pruned: 1, new: [] });
    // what was only compacted is new when a model is to answer it
    await post(proxy, '/v1/responses', bodyOf({ input: [...input, { ...CALL, call_id: 'call_2' }, fresh] }));
    expect((await proxy.requestLines(3)).at(-1)).toMatchObject({ pruned: 2 });
  });
});

describe('an answer that the provider stores', () => {
  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('is known although it and the requests were compressed with %s', async (encoding, pack) => {
    const packed: Answer = (_request, res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding });
      res.end(pack(Buffer.from(JSON.stringify(ANSWER))));
    };
    const upstream = await startUpstream(packed);
    const proxy = await startProxy(upstream);
    const headers = { 'content-encoding': encoding };
    await (await post(proxy, '/v1/responses', pack(bodyOf({ input: [QUESTION] })), headers)).text();
    const delta = bodyOf({ previous_response_id: 'resp_1', input: [output('call_1', serverLog(200))] });
    await proxy.requestLines(1);
    await (await post(proxy, '/v1/responses', pack(delta), headers)).text();
    const lines = await proxy.requestLines(2);
    expect(lines[1]).toMatchObject({ pruned: 1, new: [{ tool: 'shell' }], promptTokens: 10 });
    expect(upstream.last.headers['content-encoding']).toBeUndefined();
    expect(upstream.last.body.toString()).toContain('PRUN');
  });
});

describe('shadow mode on the messages wire', () => {
  const body = messagesBody(oneCall(serverLog(200)));

  it('sends new texts unchanged, and keeps them unchanged after it ends', async () => {
    const upstream = await startUpstream((_request, res) => json(res, 200, { type: 'message', content: [] }));
    const shadow = await startProxy(upstream, { env: { MCP_PRUNER_MODE: 'shadow' } });
    await post(shadow, '/v1/messages', body);
    expect(upstream.last.body.equals(body)).toBe(true);
    const { dbPath } = shadow;
    await shadow.stop();
    const proxy = await startProxy(upstream, { dbPath });
    await post(proxy, '/v1/messages', body);
    expect(upstream.last.body.equals(body)).toBe(true);
  });

  it('repeats texts in the form that was pruned before it began', async () => {
    const upstream = await startUpstream((_request, res) => json(res, 200, { type: 'message', content: [] }));
    const proxy = await startProxy(upstream);
    await post(proxy, '/v1/messages', body);
    const sent = upstream.last.body;
    expect(sent.toString()).toContain('PRUN');
    const { dbPath } = proxy;
    await proxy.stop();
    const shadow = await startProxy(upstream, { dbPath, env: { MCP_PRUNER_MODE: 'shadow' } });
    await post(shadow, '/v1/messages', body);
    expect(upstream.last.body.equals(sent)).toBe(true);
  });
});

describe('a proxy that stops', () => {
  it.each([
    [
      '/v1/messages',
      { type: 'error', error: { type: 'overloaded_error', message: expect.stringContaining('shutting_down') } },
    ],
    ['/v1/responses', { error: { type: 'mcp_pruner_error', code: 'shutting_down' } }],
    ['/v1/chat/completions', { error: { type: 'mcp_pruner_error', code: 'shutting_down' } }],
  ])('reports it in the error format of the wire: %s', async (path, error) => {
    const held: ServerResponse[] = [];
    const server = await listen({ health: () => ({}), host: '127.0.0.1', port: 0, drainTimeoutMs: 10_000 });
    const settings = settingsOf({});
    const destinations = new Destinations(settings, new Upstreams(settings, new LoopGuard('id')), () => {});
    const wireFor: Routes['wireFor'] = (req) => ({
      errorBody: destinations.errorBodyFor(req),
      handle: async (_req, res) => void held.push(res),
    });
    server.serve({ hops: { isLoop: () => false }, wireFor, app: (_req, res) => void res.end() });
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let answers = '';
    socket.on('data', (chunk: Buffer) => {
      answers += chunk.toString();
    });
    const ended = new Promise((resolve) => socket.once('close', resolve));
    const request = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\n\r\n{}`;
    socket.write(request);
    await expect.poll(() => held.length).toBe(1);
    const stopped = server.close();
    // on a connection whose first answer is still under way
    socket.write(request);
    await new Promise((resume) => setImmediate(resume));
    held[0]?.end('first');
    await Promise.all([ended, stopped]);
    const second = answers.slice(answers.lastIndexOf('HTTP/1.1'));
    expect(second).toMatch(/^HTTP\/1\.1 503/);
    expect(JSON.parse(second.slice(second.indexOf('\r\n\r\n') + 4))).toMatchObject(error);
  });
});
