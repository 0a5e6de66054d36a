import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { McpServer, type McpServerOptions } from '../../src/mcp/server.ts';
import { boundedList, defineTool, type Face, integer, type Tool, ToolRegistry } from '../../src/mcp/tool.ts';
import { FakePruner, goals } from './helpers/fake-pruner.ts';
import { type Answer, buildServer, pruneArgs, send, startRpcServer } from './helpers/rpc-server.ts';

function echo(name: string, more: { faces?: Face[]; flag?: string; aliases?: string[] } = {}): Tool {
  return defineTool({
    name,
    namespace: 'test',
    summary: 'Echo.',
    description: 'Say it again.',
    faces: ['rpc'],
    ...more,
    input: z.strictObject({ say: z.string(), times: z.int().min(1).optional() }),
    run: ({ say }) => say,
  });
}

async function ask(options: Partial<McpServerOptions> & { registry: ToolRegistry }, method: string, params?: unknown) {
  const server = new McpServer({ faces: ['rpc'], version: '1.0.0', ...options });
  const reply = await server.connect().receive(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  return reply as { result?: Record<string, unknown>; error?: { code: number; message: string } };
}

const call = (name: string) => ({ name, arguments: { say: 'hi' } });
const hi = { result: { content: [{ type: 'text', text: 'hi' }] } };

describe('the tool registry', () => {
  it('lists exactly the tools that it can call', async () => {
    const registry = new ToolRegistry([echo('one', { aliases: ['uno'] }), echo('two')]);
    const { result } = await ask({ registry }, 'tools/list');
    expect(result?.tools).toStrictEqual(
      ['one', 'two'].map((name) => ({
        name,
        description: 'Say it again.',
        inputSchema: {
          type: 'object',
          properties: { say: { type: 'string' }, times: { type: 'integer', minimum: 1 } },
          required: ['say'],
          additionalProperties: false,
        },
      })),
    );
    for (const name of ['one', 'two', 'uno'])
      expect(await ask({ registry }, 'tools/call', call(name))).toMatchObject(hi);
  });

  it('neither lists nor calls a tool whose flag is off, and names the flag in the error', async () => {
    const tools = [echo('plain'), echo('extra', { flag: '--enable-extra' })];
    const off = new ToolRegistry(tools);
    expect(off.list(['rpc']).map(({ name }) => name)).toEqual(['plain']);
    const { error } = await ask({ registry: off }, 'tools/call', call('extra'));
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('--enable-extra') });

    const on = new ToolRegistry(tools, new Set(['--enable-extra']));
    expect(on.list(['rpc']).map(({ name }) => name)).toEqual(['plain', 'extra']);
    expect(await ask({ registry: on }, 'tools/call', call('extra'))).toMatchObject(hi);
  });

  it('expands the name of a profile to its tools, except those whose flag is off', async () => {
    const tools = [echo('plain'), echo('extra', { flag: '--enable-extra' }), echo('other')];
    const profiles = { some: ['plain', 'extra', 'unknown'] };
    const names = (flags: string[], only: string[]) =>
      new ToolRegistry(tools, new Set(flags), profiles).list(['rpc'], only).map(({ name }) => name);
    expect(names([], ['some'])).toEqual(['plain']);
    expect(names(['--enable-extra'], ['some', 'other'])).toEqual(['plain', 'extra', 'other']);
    expect(() => names([], ['none'])).toThrow('Unknown tool none');
    const registry = new ToolRegistry(tools, new Set(), profiles);
    expect(() => registry.find('other', ['rpc'], ['some'])).toThrow('available: plain');
  });

  it('lists and calls a tool only on its own faces', async () => {
    const registry = new ToolRegistry([echo('web'), echo('shell', { faces: ['stdio'] })]);
    expect(registry.list(['stdio']).map(({ name }) => name)).toEqual(['shell']);
    expect(registry.list(['stdio', 'rpc'])).toHaveLength(2);
    expect((await ask({ registry }, 'tools/call', call('shell'))).error).toMatchObject({ code: -32602 });
    expect(await ask({ registry, faces: ['stdio', 'rpc'] }, 'tools/call', call('shell'))).toMatchObject(hi);
  });

  it('refuses two tools with the same name', () => {
    expect(() => new ToolRegistry([echo('one'), echo('two', { aliases: ['one'] })])).toThrow('one');
  });
});

describe('a strict server, as the stdio contract requires', () => {
  const registry = new ToolRegistry([echo('one')]);

  it.each([
    ['initialize', {}],
    ['initialize', { protocolVersion: 7 }],
    ['tools/call', { name: 'one', arguments: { say: null } }],
    ['tools/call', { name: 'nope' }],
    ['tools/list', []],
  ])('answers a bad %s with "Invalid params" and no more', async (method, params) => {
    const { error } = await ask({ registry, strict: true }, method, params);
    expect(error).toMatchObject({ code: -32602, message: 'Invalid params' });
  });

  it('needs neither clientInfo nor capabilities, and returns no instructions unless configured', async () => {
    const { result } = await ask({ registry, strict: true }, 'initialize', { protocolVersion: '2025-06-18' });
    expect(result).toStrictEqual({
      protocolVersion: '2025-06-18',
      capabilities: { tools: { listChanged: false } },
      serverInfo: { name: 'mcp-pruner', version: '1.0.0' },
    });
  });
});

describe('additional methods', () => {
  it('replace the default empty lists and are announced as capabilities', async () => {
    const methods = { 'resources/list': () => ({ resources: [{ uri: 'sc://runs/1/events', name: 'run' }] }) };
    const options = { registry: new ToolRegistry([]), methods, capabilities: { resources: { subscribe: true } } };
    expect((await ask(options, 'resources/list')).result?.resources).toHaveLength(1);
    expect((await ask(options, 'initialize', {})).result?.capabilities).toEqual({
      tools: { listChanged: false },
      resources: { subscribe: true },
    });
  });
});

describe('a long-lived connection', () => {
  const hang = (id: unknown) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'prune_text', arguments: pruneArgs({ goal_hint: goals.hang }) },
    });
  const cancel = (requestId: unknown) =>
    JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' });

  it('cancels only the call with the same id and id type, and serves others meanwhile', async () => {
    const pruner = new FakePruner();
    const connection = buildServer(pruner).connect();
    let stopped = false;
    const running = connection.receive(hang('1'));
    void running.then(() => {
      stopped = true;
    });
    await pruner.hanging;
    expect(await connection.receive(cancel(1))).toBeNull();
    expect(await connection.receive(ping)).toMatchObject({ id: 2 });
    expect(stopped).toBe(false);
    await connection.receive(cancel('1'));
    expect(await running).toBeNull();
  });

  it('stops every running call when it closes, even two with the same id, and answers nothing afterwards', async () => {
    const connection = buildServer(new FakePruner()).connect();
    const running = [connection.receive(hang(1)), connection.receive(hang(1))];
    connection.close();
    expect(await Promise.all(running)).toEqual([null, null]);
    expect(await connection.receive(ping)).toBeNull();
  });
});

describe('a client with selected tools', () => {
  const listed = async (path: string): Promise<unknown> => {
    const { port } = await startRpcServer();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const { result } = JSON.parse((await send(port, body, { path })).body) as { result: { tools: { name: string }[] } };
    return result.tools.map(({ name }) => name);
  };

  it.each([
    ['/rpc?tools=recover_text', ['recover_text']],
    ['/rpc?tools=health,%20recover_text', ['recover_text', 'health']],
    ['/rpc?tools=health&tools=recover_range&token=x', ['recover_text', 'health']],
    ['/rpc?other=1', ['prune_text', 'recover_text', 'health']],
  ])('gets at %s only %j', async (path, names) => expect(await listed(path)).toEqual(names));

  it('can call only the selected tools', async () => {
    const { port, pruner } = await startRpcServer();
    const ask = async (name: string, args: object) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
      return JSON.parse((await send(port, body, { path: '/rpc?tools=health' })).body) as Answer;
    };
    expect((await ask('health', {})).result).toBeDefined();
    const { error } = await ask('prune_text', pruneArgs());
    expect(error).toMatchObject({
      code: -32602,
      message: 'Invalid params: name: Unknown tool prune_text; available: health',
    });
    expect(pruner.inputs).toEqual([]);
  });

  it.each(['recover', '', 'recover_text,'])(
    'gets an immediate error for the unknown tool "%s", with the list of tools',
    async (tools) => {
      const { port } = await startRpcServer();
      for (const method of ['initialize', 'tools/list', 'ping']) {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method });
        const answer = JSON.parse((await send(port, body, { path: `/rpc?tools=${tools}` })).body) as Answer;
        expect(answer).toMatchObject({ id: 7, error: { code: -32602 } });
        expect(answer.error?.message).toMatch(/Unknown tool .*; available: prune_text, recover_text, health$/);
      }
    },
  );
});

describe('a list with a maximum length', () => {
  it('is checked for its length before its items are validated', () => {
    const list = z.strictObject({ list: boundedList(z.strictObject({ line: integer }), 3) });
    expect(list.safeParse({ list: [{ line: 1 }, { line: 2 }] }).success).toBe(true);
    expect(list.safeParse({ list: Array(4).fill('bad') }).error?.issues).toHaveLength(1);
  });
});
