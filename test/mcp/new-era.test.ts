import { describe, expect, it } from 'vitest';
import { PrunerError } from '../../src/errors/errors.ts';
import { pruneArgs, type RawAnswer, type RpcServer, send, startRpcServer } from './helpers/rpc-server.ts';

const VERSION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

const OLD = { ...META, 'io.modelcontextprotocol/protocolVersion': '1999-01-01' };

interface Changes {
  readonly id?: unknown;
  readonly params?: object;
  readonly meta?: object;
  readonly headers?: Record<string, string>;
}

/** Calls a method as a client of the new era does. */
async function call(
  { port }: RpcServer,
  method: string,
  { id = 1, params = {}, meta = META, headers = {} }: Changes = {},
): Promise<RawAnswer & { readonly json: Record<string, unknown> }> {
  const name = 'name' in params ? String(params.name) : 'uri' in params ? String(params.uri) : undefined;
  const text = JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } });
  const fields = {
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
    ...(name === undefined ? {} : { 'mcp-name': name }),
    accept: 'application/json, text/event-stream',
    ...headers,
  };
  const raw = await send(port, text.replace(`"id":"exact"`, '"id":9007199254740993'), { headers: fields });
  return { ...raw, json: JSON.parse(raw.body.replace(/^event: message\ndata: /, '')) };
}

describe('protocol version 2026-07-28 at POST /rpc', () => {
  it('needs no initialize: a client discovers the server, lists tools and calls them', async () => {
    const server = await startRpcServer();
    const discovered = await call(server, 'server/discover');
    expect([discovered.status, discovered.json.result]).toMatchObject([
      200,
      { resultType: 'complete', supportedVersions: [VERSION], capabilities: { tools: {} } },
    ]);
    expect(JSON.stringify(discovered.json)).toContain('recover_text');
    const listed = (await call(server, 'tools/list')).json.result as { tools: { name: string }[] };
    expect(listed.tools.map(({ name }) => name)).toEqual(['prune_text', 'recover_text', 'health']);
    expect(listed).toMatchObject({ resultType: 'complete', ttlMs: 0 });
    const called = await call(server, 'tools/call', { params: { name: 'prune_text', arguments: pruneArgs() } });
    expect(called.json.result).toMatchObject({ resultType: 'complete', content: [{ type: 'text' }] });
    expect(server.calls.map(({ tool, errorCode }) => [tool, errorCode])).toEqual([
      [null, null],
      ['prune_text', null],
    ]);
    expect(server.faults).toEqual([]);
  });

  it('preserves the code, message and data of an error', async () => {
    const params = {
      name: 'recover_text',
      arguments: { prune_id: 'prn_gone', ranges: [], include_line_numbers: false },
    };
    const { status, json } = await call(await startRpcServer(), 'tools/call', { params });
    expect([status, json.error]).toMatchObject([200, { code: -32004, data: { code: 'prune_id_not_found' } }]);
  });

  it('answers only methods that it announces, and rejects others with 404', async () => {
    const server = await startRpcServer();
    const absent = ['prompts/list', 'prompts/get', 'resources/list', 'resources/templates/list', 'resources/read'];
    for (const method of [...absent, 'nothing', 'initialize', 'ping']) {
      const { status, json } = await call(server, method);
      expect([method, status, json.error]).toMatchObject([method, 404, { code: -32601 }]);
    }
  });

  it.each([
    ['no _meta', { meta: {} }, -32602],
    ['a version that nobody speaks', { meta: OLD, headers: { 'mcp-protocol-version': '1999-01-01' } }, -32022],
    ['another version in the header', { headers: { 'mcp-protocol-version': '2025-06-18' } }, -32020],
    ['another method in the header', { headers: { 'mcp-method': 'tools/call' } }, -32020],
  ])('refuses %s with 400', async (_, changes, code) => {
    const { status, json } = await call(await startRpcServer(), 'tools/list', changes);
    expect([status, json.error]).toMatchObject([400, { code }]);
  });

  it.each(['[]', '[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', '{"jsonrpc":"2.0","id":1}', 'no json'])(
    'refuses %s with 400, because a body must be a single message',
    async (body) => {
      const { port } = await startRpcServer();
      const raw = await send(port, body, { headers: { 'mcp-protocol-version': VERSION } });
      expect([raw.status, JSON.parse(raw.body).error.code < 0]).toEqual([400, true]);
    },
  );

  it('echoes an id beyond 2^53 digit for digit, and answers with an event if only events are accepted', async () => {
    const headers = { accept: 'text/event-stream' };
    const { body } = await call(await startRpcServer(), 'tools/list', { id: 'exact', headers });
    expect(body).toMatch(/^event: message\ndata: \{.*"id":9007199254740993[,}]/);
  });

  it('also echoes such an id in the events of a subscription', async () => {
    const { port } = await startRpcServer();
    const params = { notifications: { toolsListChanged: true }, _meta: META };
    const text = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'subscriptions/listen', params });
    const headers = {
      'mcp-protocol-version': VERSION,
      'mcp-method': 'subscriptions/listen',
      accept: 'text/event-stream',
    };
    const { status, body } = await send(port, text.replace('"id":0', '"id":9007199254740993'), { headers });
    expect([status, body.match(/d":9007199254740993/g)?.length, body.includes('exact-')]).toEqual([200, 3, false]);
  });

  it('reports a missing resource as an invalid parameter, -32602, and as -32002 to older clients', async () => {
    const missing = new PrunerError('resource_not_found', { uri: 'sc://snapshots/prn_gone' });
    const read = (): never => {
      throw missing;
    };
    const methods = { 'resources/read': read };
    const server = await startRpcServer({ server: { methods, capabilities: { resources: {} } } });
    const { status, json } = await call(server, 'resources/read', { params: { uri: 'sc://snapshots/prn_gone' } });
    expect([status, json.error]).toMatchObject([200, { code: -32602 }]);
    const older = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 'sc://snapshots/prn_gone' } };
    expect(JSON.parse((await send(server.port, JSON.stringify(older))).body).error.code).toBe(-32002);
  });

  it('offers only the tools named in the URL, and applies the usual limits to bodies', async () => {
    const { port } = await startRpcServer({ maxBodyBytes: 1000 });
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } });
    const headers = { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/list' };
    const { body } = await send(port, text, { path: '/rpc?tools=health', headers });
    expect(JSON.parse(body).result.tools).toMatchObject([{ name: 'health' }]);
    expect((await send(port, text.padEnd(1001), { headers })).status).toBe(413);
    const deep = text.replace('"params":{', `"params":{"x":${'['.repeat(600)}${']'.repeat(600)},`).slice(0, 1e6);
    expect((await send((await startRpcServer()).port, deep, { headers })).status).toBe(400);
  });

  it('ends a call whose client disconnects', async () => {
    const server = await startRpcServer();
    const aborted = new AbortController();
    const params = { name: 'prune_text', arguments: pruneArgs({ goal_hint: 'hang' }), _meta: META };
    const answer = fetch(server.url, {
      method: 'POST',
      signal: aborted.signal,
      headers: { 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': 'prune_text' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    });
    await server.pruner.hanging;
    aborted.abort();
    await expect(answer).rejects.toThrow();
    await server.pruner.aborted;
    await expect.poll(() => server.calls).toMatchObject([{ tool: 'prune_text', cancelled: true }]);
  });
});
