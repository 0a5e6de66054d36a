import { describe, expect, it } from 'vitest';
import { type FakeUpstream, json, startUpstream } from '../helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../helpers/messages.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-test',
  content: [{ type: 'text', text: 'Done.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 30, cache_creation_input_tokens: 70, cache_read_input_tokens: 900, output_tokens: 41 },
};
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  output: [],
  usage: { input_tokens: 800, input_tokens_details: { cached_tokens: 700 }, output_tokens: 5 },
};

interface Two {
  readonly proxy: TestProxy;
  readonly anthropic: FakeUpstream;
  readonly openai: FakeUpstream;
}

/** A proxy with an upstream for each kind of wire; the paths of their URLs differ from the usual ones. */
async function twoUpstreams(env: Readonly<Record<string, string>> = {}): Promise<Two> {
  const anthropic = await startUpstream((_request, res) => json(res, 200, MESSAGE));
  const openai = await startUpstream((_request, res) => json(res, 200, RESPONSE));
  const proxy = await startProxy(openai, {
    env: {
      MCP_PRUNER_UPSTREAM_URL: `http://127.0.0.1:${openai.port}/openai/v1`,
      MCP_PRUNER_ANTHROPIC_URL: `http://127.0.0.1:${anthropic.port}/api/v1`,
      ...env,
    },
  });
  return { proxy, anthropic, openai };
}

function post({ proxy }: Two, path: string, body: Buffer, headers: Record<string, string> = {}): Promise<Response> {
  const fields = { 'content-type': 'application/json', 'x-api-key': 'sk-ant-test', ...headers };
  return fetch(`${proxy.url}${path}`, { method: 'POST', headers: fields, body });
}

function responsesBody(output: string): Buffer {
  const input = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Why does the checkout fail?' }] },
    { type: 'function_call', call_id: 'call_1', name: 'shell', arguments: '{"command":"npm start"}' },
    { type: 'function_call_output', call_id: 'call_1', output },
  ];
  return Buffer.from(JSON.stringify({ model: 'gpt-test', input, store: false, stream: false }));
}

describe('a proxy with several wires on one port', () => {
  it('sends the messages wire to its own upstream, pruned, with query and header fields unchanged', async () => {
    const two = await twoUpstreams();
    const body = messagesBody(oneCall(serverLog(900)));
    const answer = await post(two, '/v1/messages?beta=true', body, {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'interleaved-thinking-2025-05-14',
    });
    expect(await answer.json()).toEqual(MESSAGE);
    expect(two.openai.requests).toHaveLength(0);
    const { url, headers, body: sent } = two.anthropic.last;
    expect(url).toBe('/api/v1/messages?beta=true');
    expect(headers).toMatchObject({
      'x-api-key': 'sk-ant-test',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'interleaved-thinking-2025-05-14',
    });
    expect(sent.length).toBeLessThan(body.length / 2);
    expect(sent.toString()).toContain('⟦PRUNÉ:');
  });

  it('sends the responses wire to the upstream of the chat wire, pruned', async () => {
    const two = await twoUpstreams();
    const body = responsesBody(serverLog(900));
    expect(await (await post(two, '/v1/responses', body)).json()).toEqual(RESPONSE);
    expect(two.openai.last.url).toBe('/openai/v1/responses');
    expect(two.openai.last.body.length).toBeLessThan(body.length / 2);
    expect(two.anthropic.requests).toHaveLength(0);
  });

  it('passes all other requests on to the provider that they belong to', async () => {
    const two = await twoUpstreams();
    const get = (path: string, headers: Record<string, string> = {}) => fetch(`${two.proxy.url}${path}`, { headers });
    await get('/v1/models');
    await get('/v1/models', { 'anthropic-version': '2023-06-01' });
    await get('/v1/messages/batches?limit=2');
    await get('/v1/responses/resp_1');
    expect(two.openai.requests.map(({ url }) => url)).toEqual(['/openai/v1/models', '/openai/v1/responses/resp_1']);
    expect(two.anthropic.requests.map(({ url }) => url)).toEqual([
      '/api/v1/models',
      '/api/v1/messages/batches?limit=2',
    ]);
  });

  it("reports the wire and the provider's usage in log, events and metrics", async () => {
    const two = await twoUpstreams();
    await (await post(two, '/v1/messages', messagesBody(oneCall(serverLog(900))))).text();
    await (await post(two, '/v1/responses', responsesBody(serverLog(900)))).text();
    const lines = await two.proxy.requestLines(2);
    expect(lines).toMatchObject([
      { wire: 'messages', promptTokens: 1_000, cachedTokens: 900, cacheWriteTokens: 70, completionTokens: 41 },
      { wire: 'responses', promptTokens: 800, cachedTokens: 700, completionTokens: 5 },
    ]);
    const page = await (await fetch(`${two.proxy.url}/metrics`)).text();
    expect(page).toMatch(/mcp_pruner_requests_total\{route="messages",status="200",model="claude-test"\} 1/);
    expect(page).toMatch(/mcp_pruner_provider_tokens_total\{route="messages",kind="cache_write"\} 70/);
    expect(page).toMatch(/mcp_pruner_route_tokens_saved_total\{route="responses"\} [1-9]/);
  });

  it('sums requests by wire', async () => {
    const two = await twoUpstreams();
    await (await post(two, '/v1/messages', messagesBody(oneCall(serverLog(900))))).text();
    for (let i = 0; i < 2; i++) await (await post(two, '/v1/responses', responsesBody(serverLog(900)))).text();
    await two.proxy.requestLines(3);
    const { dbPath } = two.proxy;
    await two.proxy.stop();
    const store = openStore(dbPath);
    const sums = await store.ledger.sums({ sinceDay: '2000-01-01' });
    const of = (wire: string) =>
      Object.fromEntries(
        sums.flatMap(({ slice, key, field, value }) => (slice === 'wire' && key === wire ? [[field, value]] : [])),
      );
    expect(of('messages')).toMatchObject({ requests: 1, candidates: 1, pruned: 1 });
    // the second one brings nothing new
    expect(of('responses')).toMatchObject({ requests: 2, candidates: 1, pruned: 1 });
    expect(of('responses').tokens_after).toBeLessThan((of('responses').tokens_before ?? 0) / 2);
  });

  it('answers for an unreachable upstream in the error format of the wire', async () => {
    const two = await twoUpstreams();
    await Promise.all([two.anthropic.close(), two.openai.close()]);
    const error = { type: 'error', error: { type: 'api_error' } };
    const [messages, models, responses] = await Promise.all([
      post(two, '/v1/messages', messagesBody(oneCall('x'))),
      fetch(`${two.proxy.url}/v1/models`, { headers: { 'anthropic-version': '2023-06-01' } }),
      post(two, '/v1/responses', responsesBody('x')),
    ]);
    expect([messages.status, models.status, responses.status]).toEqual([502, 502, 502]);
    expect(await messages.json()).toMatchObject(error);
    expect(await models.json()).toMatchObject(error);
    expect(await responses.json()).toMatchObject({ error: { type: 'mcp_pruner_error' } });
  });

  it('passes an error of the upstream on byte for byte', async () => {
    const two = await twoUpstreams();
    const words = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}';
    two.anthropic.answer = (_request, res) => res.writeHead(529, { 'content-type': 'application/json' }).end(words);
    const answer = await post(two, '/v1/messages', messagesBody(oneCall(serverLog(900))));
    expect([answer.status, await answer.text()]).toEqual([529, words]);
  });
});
