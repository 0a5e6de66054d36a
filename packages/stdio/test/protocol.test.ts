import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { coldProgram } from '../../../test/helpers/built.ts';
import { type Answer, environment, LocalClient, RawClient } from './helpers/client.ts';
import { soon } from './helpers/soon.ts';

const protocolVersion = '2025-11-25';
let server: RawClient;

beforeAll(() => {
  server = new RawClient({ keep: true });
});

afterAll(() => {
  server.child.kill('SIGKILL');
});

describe('initialize', () => {
  it('requires only a protocol version, and names the server and its version', async () => {
    expect((await server.request('initialize', { protocolVersion })).result).toEqual({
      protocolVersion,
      serverInfo: { name: 'mcp-pruner', version: '1.0.0' },
      capabilities: { tools: { listChanged: false } },
    });
  });

  it("accepts the client's information, and ignores unknown fields", async () => {
    const params = {
      protocolVersion: '2024-11-05',
      clientInfo: { name: 'x', version: '1' },
      capabilities: { roots: {} },
      _meta: { a: 1 },
    };
    expect((await server.request('initialize', params)).result).toMatchObject({ protocolVersion: '2024-11-05' });
  });

  it.each([undefined, {}, { protocolVersion: 1 }, { protocolVersion: null }, []])(
    'refuses %j with -32602',
    async (params) => {
      const { error } = await server.request('initialize', params);
      expect(error).toMatchObject({ code: -32602, message: 'Invalid params' });
    },
  );
});

describe('tools/list', () => {
  it.each([undefined, {}])('lists exactly read, bash and grep (params %j)', async (params) => {
    const { tools } = (await server.request('tools/list', params)).result as { tools: readonly { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(['read', 'bash', 'grep']);
  });

  it('describes their arguments as plain strings', async () => {
    const text = { type: 'string', description: expect.any(String) };
    const schema = (required: string, ...optional: string[]) => ({
      type: 'object',
      properties: Object.fromEntries([required, ...optional, 'context_focus_question'].map((name) => [name, text])),
      required: [required],
    });
    const { tools } = (await server.request('tools/list')).result as { tools: readonly Record<string, unknown>[] };
    expect(tools.map(({ inputSchema }) => inputSchema)).toEqual([
      schema('file_path'),
      schema('command'),
      schema('pattern', 'path'),
    ]);
    for (const tool of tools) expect(tool).not.toHaveProperty('outputSchema');
  });

  it('refuses params that are not an object with -32602', async () => {
    expect((await server.request('tools/list', ['x'])).error).toMatchObject({
      code: -32602,
      message: 'Invalid params',
    });
  });
});

describe('an invalid call', () => {
  it.each([
    ['read', {}],
    ['read', { file_path: 1 }],
    ['read', { file_path: null }],
    ['read', { file_path: ['/etc/hosts'] }],
    ['read', { path: '/etc/hosts' }],
    ['read', { file_path: '/etc/hosts', context_focus_question: 5 }],
    ['read', { file_path: '/etc/hosts', context_focus_question: null }],
    ['bash', {}],
    ['bash', { command: true }],
    ['bash', { command: 'true', context_focus_question: {} }],
    ['grep', {}],
    ['grep', { pattern: 7 }],
    ['grep', { pattern: 'x', path: null }],
    ['grep', { pattern: 'x', path: 1 }],
    ['grep', { pattern: 'x', context_focus_question: false }],
    ['read', null],
    ['read', 'file_path'],
    ['write', { file_path: 'x' }],
    ['prune_text', {}],
    [7, {}],
    [undefined, {}],
  ])('is refused with -32602 and "Invalid params": %j %j', async (name, args) => {
    const { error } = await server.request('tools/call', { name, arguments: args });
    expect(error).toMatchObject({ code: -32602, message: 'Invalid params' });
  });

  it('is also refused if arguments are missing', async () => {
    expect((await server.request('tools/call', { name: 'bash' })).error).toMatchObject({ code: -32602 });
    expect((await server.request('tools/call')).error).toMatchObject({ code: -32602, message: 'Invalid params' });
  });
});

describe('the stream', () => {
  it.each(['nope', 'tools/run', 'resources/list', 'prompts/list', '__proto__', 'health'])(
    'answers the unknown method %s with -32601',
    async (method) => {
      expect((await server.request(method)).error).toMatchObject({ code: -32601 });
    },
  );

  it('continues after lines that are not messages, and reports the problem with each of them', async () => {
    const client = new LocalClient();
    client.raw('not json\n{"jsonrpc":"2.0","id":1\n\n   \r\n"text"\n7\n');
    client.raw(Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}\n')]));
    client.raw('{"jsonrpc":"1.0","id":5,"method":"ping"}\n{"id":6,"method":"ping"}\n[]\n');
    client.raw('{"jsonrpc":"2.0","id":{},"method":"ping"}\n');
    expect((await client.request('ping')).result).toEqual({});
    // answers come in any order
    const codes = (): unknown[] =>
      client.lines.map((line) => (JSON.parse(line) as Answer).error?.code).filter((code) => code !== undefined);
    await soon(() => codes().sort()).toEqual([-32600, -32600, -32600, -32600, -32600, -32600, -32700, -32700, -32700]);
  });

  it('answers a request whose params are not an object', async () => {
    expect((await server.request('ping', 'text')).error).toMatchObject({ code: -32602 });
  });

  it('preserves the type of ids, and does not answer notifications', async () => {
    const client = new LocalClient();
    client.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    client.send({ jsonrpc: '2.0', method: 'ping' });
    client.send({ jsonrpc: '2.0', id: '7', method: 'ping' });
    client.send({ jsonrpc: '2.0', id: 7, method: 'ping' });
    await Promise.all([client.answer('7'), client.answer(7)]);
    expect(client.lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { jsonrpc: '2.0', id: '7', result: {} },
      { jsonrpc: '2.0', id: 7, result: {} },
    ]);
  });

  it('accepts messages in several chunks, several messages in one chunk, and CRLF line endings', async () => {
    const client = new LocalClient();
    const text = '{"jsonrpc":"2.0","id":"é€😀","method":"ping"}\r\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n';
    for (const byte of Buffer.from(text)) client.raw(Buffer.of(byte));
    await Promise.all([client.answer('é€😀'), client.answer(2)]);
  });

  it('answers a batch on one line', async () => {
    const client = new LocalClient();
    client.raw('[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"x"}]\n');
    await client.answer(2);
    expect(client.lines).toHaveLength(1);
  });

  it('answers the last line even without a line ending, and all requests received before the end of input', async () => {
    const client = new RawClient();
    client.start('bash', { command: 'sleep 0.2; echo done' });
    client.raw('{"jsonrpc":"2.0","id":"last","method":"ping"}');
    client.child.stdin.end();
    expect(await client.ended()).toEqual([0, null]);
    expect(client.lines.join()).toContain('"last"');
    expect(client.lines.join()).toContain('done\\n');
  });
});

describe('the official MCP client', () => {
  it('connects, lists, calls, sees errors, and closes without having to send a signal', async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [coldProgram()],
      env: environment(),
      stderr: 'pipe',
    });
    const client = new Client({ name: 'test', version: '1.0.0' });
    onTestFinished(() => client.close());
    await client.connect(transport);
    expect(client.getServerVersion()).toMatchObject({ name: 'mcp-pruner', version: '1.0.0' });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['read', 'bash', 'grep']);
    expect(await client.callTool({ name: 'bash', arguments: { command: 'echo hello' } })).toEqual({
      content: [{ type: 'text', text: 'hello\n' }],
    });
    await expect(client.callTool({ name: 'read', arguments: {} })).rejects.toMatchObject({
      code: -32602,
      message: 'MCP error -32602: Invalid params',
    });
  });
});
