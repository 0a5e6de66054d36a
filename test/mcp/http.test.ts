import http from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { callTool, contentOf, post, pruneArgs, request, send, startRpcServer } from './helpers/rpc-server.ts';

const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
const pong = { jsonrpc: '2.0', id: 1, result: {} };

describe('POST /rpc', () => {
  it.each([
    [{}],
    [{ accept: 'application/json' }],
    [{ accept: 'application/json, text/event-stream' }],
    [{ accept: 'text/event-stream;q=0.5, */*' }],
    [{ 'content-type': 'application/x-www-form-urlencoded' }],
    [{ 'content-type': 'application/json; charset=utf-8' }],
    [{ 'content-type': '' }],
    [{ 'mcp-protocol-version': '2025-06-18' }],
    [{ 'mcp-protocol-version': '2024-10-07', 'mcp-session-id': 'x' }],
    [{ 'transfer-encoding': 'chunked' }],
  ])('answers plain JSON to %j', async (headers) => {
    const { port } = await startRpcServer();
    const raw = await send(port, ping, { headers });
    expect(raw).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    expect(raw.headers['mcp-session-id']).toBeUndefined();
    expect(JSON.parse(raw.body)).toEqual(pong);
  });

  it('answers with a single event if the client accepts only events', async () => {
    const { port } = await startRpcServer();
    const raw = await send(port, ping, { headers: { accept: 'text/event-stream' } });
    expect([raw.status, raw.headers['content-type']]).toEqual([200, 'text/event-stream']);
    expect(raw.body).toBe(`event: message\ndata: ${JSON.stringify(pong)}\n\n`);
  });

  it('refuses an unknown version of the protocol, except in initialize, which negotiates it', async () => {
    const { port } = await startRpcServer();
    const headers = { 'mcp-protocol-version': '1999-01-01' };
    const refused = await send(port, ping, { headers });
    expect([refused.status, JSON.parse(refused.body)]).toMatchObject([400, { error: { code: -32600 } }]);
    const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} };
    const accepted = await send(port, JSON.stringify(initialize), { headers });
    expect([accepted.status, JSON.parse(accepted.body)]).toMatchObject([200, { id: 1, result: {} }]);
  });

  it.each(['9007199254740993', '-123456789012345678901234567890'])('repeats the id %s digit for digit', async (id) => {
    const { port } = await startRpcServer();
    const message = (method: string) => `{"jsonrpc":"2.0","id":${id},"params":{"x":"\\"id\\":1"},"method":"${method}"}`;
    expect((await send(port, message('ping'))).body).toBe(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    const batch = await send(port, `[${message('ping')},${ping},${message('none')}]`);
    expect(batch.body).toContain(`[{"jsonrpc":"2.0","id":${id},"result":{}},${JSON.stringify(pong)},`);
    expect(batch.body).toContain(`{"jsonrpc":"2.0","id":${id},"error":{`);
  });

  it.each(['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS'])(
    'refuses %s with 405 and names POST as the allowed method',
    async (method) => {
      const { port } = await startRpcServer();
      const raw = await send(port, null, { method });
      expect(raw.status).toBe(405);
      expect(raw.headers.allow).toBe('POST');
      expect(JSON.parse(raw.body)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600 } });
    },
  );

  it('accepts a compressed body', async () => {
    const { port } = await startRpcServer();
    const raw = await send(port, gzipSync(ping), { headers: { 'content-encoding': 'gzip' } });
    expect(JSON.parse(raw.body)).toEqual(pong);
  });

  it('reports why a body cannot be decompressed', async () => {
    const { port, faults } = await startRpcServer();
    const broken = await send(port, 'not gzip', { headers: { 'content-encoding': 'gzip' } });
    expect(broken.status).toBe(400);
    expect(JSON.parse(broken.body)).toMatchObject({ id: null, error: { code: -32700 } });
    const unknown = await send(port, ping, { headers: { 'content-encoding': 'rot13' } });
    expect(unknown.status).toBe(415);
    expect(JSON.parse(unknown.body)).toMatchObject({ id: null, error: { code: -32600 } });
    expect(faults).toEqual([]);
  });

  it('refuses a body above the limit, even if it exceeds the limit only when decompressed', async () => {
    const { port } = await startRpcServer({ maxBodyBytes: 1000 });
    const padded = (length: number): string => ping + ' '.repeat(length - ping.length);
    expect(JSON.parse((await send(port, padded(1000))).body)).toEqual(pong);
    const expected = { error: { code: -32600, data: { code: 'body_too_large', limit_bytes: 1000 } } };
    for (const [body, headers] of [
      [padded(1001), {}],
      [padded(1001), { 'transfer-encoding': 'chunked' }],
      [gzipSync(padded(1_000_000)), { 'content-encoding': 'gzip' }],
    ] as const) {
      const raw = await send(port, body, { headers });
      expect(raw.status).toBe(413);
      expect(JSON.parse(raw.body)).toMatchObject(expected);
    }
  });

  it('prunes and recovers a text of 5 MB', async () => {
    const { port } = await startRpcServer();
    const text = 'une ligne accentuée, "entre guillemets"\n'.repeat(125_000);
    const { prune_id } = contentOf(await callTool(port, 'prune_text', pruneArgs({ text })));
    const args = { prune_id, ranges: [{ start_line: 1, end_line: 125_000 }], include_line_numbers: false };
    expect(`${contentOf(await callTool(port, 'recover_text', args)).raw_text}\n`).toBe(text);
  });

  it('separates fifty clients that all use the same ids', async () => {
    const { port } = await startRpcServer();
    const clients = Array.from({ length: 50 }, async (_, client) => {
      const text = Array.from({ length: 9 }, (_line, i) => `client ${client} line ${i}`).join('\n');
      const { prune_id } = contentOf(await callTool(port, 'prune_text', pruneArgs({ text }), 7));
      const args = { prune_id, ranges: [{ start_line: 5, end_line: 5 }], include_line_numbers: false };
      const answer = await callTool(port, 'recover_text', args, 7);
      return [answer.id, contentOf(answer).raw_text];
    });
    const expected = Array.from({ length: 50 }, (_, client) => [7, `client ${client} line 4`]);
    expect(await Promise.all(clients)).toEqual(expected);
  });

  it('stops a running tool when its client disconnects, and serves the next one', async () => {
    const { port, pruner, calls } = await startRpcServer();
    const params = { name: 'prune_text', arguments: pruneArgs({ goal_hint: 'hang' }) };
    const req = http.request({ host: '127.0.0.1', port, path: '/rpc', method: 'POST' });
    req.on('error', () => {}); // the hang-up below
    req.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
    await pruner.hanging;
    req.destroy();
    await pruner.aborted;
    expect((await request(port, 'ping')).result).toEqual({});
    expect(calls[0]).toMatchObject({ tool: 'prune_text', cancelled: true, errorCode: null });
    expect(calls[0]?.fault).toBeUndefined();
  });

  it('neither runs nor answers a call that a later member of its batch cancels', async () => {
    const { port, pruner } = await startRpcServer();
    const params = { name: 'prune_text', arguments: pruneArgs({ goal_hint: 'hang' }) };
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    const answer = await post(port, [
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      cancel,
      JSON.parse(ping),
    ]);
    expect(answer).toEqual([pong]);
    expect(pruner.inputs).toEqual([]);
  });

  it('answers -32603 when an answer cannot be written, and reports it', async () => {
    const unwritable = () => ({
      toJSON() {
        throw new Error('too large');
      },
    });
    const { port, faults } = await startRpcServer({ server: { methods: { unwritable } } });
    const raw = await send(port, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'unwritable' }));
    expect(raw.status).toBe(500);
    expect(JSON.parse(raw.body)).toMatchObject({ id: null, error: { code: -32603, message: 'Internal error' } });
    expect(faults).toHaveLength(1);
  });
});
