import { describe, expect, it } from 'vitest';
import { parseMarker } from '../../src/engine/text/marker.ts';
import { run } from '../cli/fake-io.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { startSocketUpstream } from '../helpers/fake-socket-upstream.ts';
import { type FakeUpstream, json, type SeenRequest, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { openStore } from '../helpers/rewriter.ts';
import { openSocket } from '../helpers/socket-client.ts';
import { LONG, REST, seedUnused } from './seed.ts';

const SWITCHED_OFF: readonly Record<string, string>[] = [
  { MCP_PRUNER_ENABLED: 'false' },
  { MCP_PRUNER_MODE: 'shadow' },
  { MCP_PRUNER_HOLDOUT: '1' },
];
const NOON = Date.parse('2026-05-02T12:00:00Z');
const schema = {
  type: 'object',
  properties: { where: { type: 'string', description: `A lake. ${REST}`, enum: ['a', 'b'] } },
  required: ['where'],
};

type Tool = Record<string, unknown>;
type Wire = 'chat' | 'messages' | 'responses' | 'gemini';

/** How a wire declares tools and says things. */
const WIRES: Readonly<
  Record<Wire, { path: string; tool: (name: string) => Tool; body: (tools: Tool[], said: string[]) => object }>
> = {
  chat: {
    path: '/v1/chat/completions',
    tool: (name) => ({ type: 'function', function: { name, description: LONG, parameters: schema, strict: true } }),
    body: (tools, said) => ({
      ...{ model: 'gpt-5', tools },
      messages: said.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content })),
    }),
  },
  messages: {
    path: '/v1/messages',
    tool: (name) => ({ name, description: LONG, input_schema: schema }),
    body: (tools, said) => ({
      ...{ model: 'claude-opus-4-5', max_tokens: 100, system: 'Be kind.', tools },
      messages: said.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content })),
    }),
  },
  responses: {
    path: '/v1/responses',
    tool: (name) => ({ type: 'function', name, description: LONG, parameters: schema, strict: false }),
    body: (tools, said) => ({
      ...{ model: 'gpt-5', store: false, tools: [{ type: 'namespace', name: 'srv', description: LONG, tools }] },
      input: said.map((content, i) => ({ type: 'message', role: i % 2 === 0 ? 'user' : 'assistant', content })),
    }),
  },
  gemini: {
    path: '/v1beta/models/gemini-3-pro:generateContent',
    tool: (name) => ({ name, description: LONG, parametersJsonSchema: schema }),
    body: (tools, said) => ({
      tools: [{ functionDeclarations: tools }],
      contents: said.map((text, i) => ({ role: i % 2 === 0 ? 'user' : 'model', parts: [{ text }] })),
    }),
  },
};

interface Bench {
  readonly upstream: FakeUpstream;
  readonly dbPath: string;
  readonly clock: { now: number; nowMs(): number };
  start(env?: Record<string, string>): Promise<TestProxy>;
}

/** A store that knows the tools of the bodies as unused for two days. */
async function bench(seeds: readonly (readonly [Wire, object])[], client = 'agent'): Promise<Bench> {
  const upstream = await startUpstream();
  const clock = { now: NOON, nowMs: () => clock.now };
  const dbPath = `${tempFolder()}/store.db`;
  const store = openStore(dbPath, clock);
  for (const [wire, body] of seeds) await seedUnused(store, body, { wire, client, atMs: NOON });
  await store.close();
  return {
    ...{ upstream, dbPath, clock },
    start: (env = {}) =>
      startProxy(upstream, {
        ...{ dbPath, clock },
        env: { MCP_PRUNER_TOOL_SHELF: 'on', MCP_PRUNER_GEMINI_URL: upstream.url.replace('/v1', '/v1beta'), ...env },
      }),
  };
}

async function send(
  proxy: TestProxy,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<number> {
  const answer = await fetch(`${proxy.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'agent/1.0', ...headers },
    body: JSON.stringify(body),
  });
  await answer.text();
  return answer.status;
}

/** Descriptions of a value by their path, in order. */
function descriptionsIn(value: unknown, path = ''): [string, string][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]): [string, string][] =>
    key === 'description' && typeof inner === 'string'
      ? [[`${path}.${key}`, inner]]
      : descriptionsIn(inner, `${path}.${key}`),
  );
}

const parsed = ({ body }: SeenRequest): Record<string, unknown> => JSON.parse(body.toString('utf8'));
const toolsOf = (request: SeenRequest | undefined): string =>
  JSON.stringify(request ? [parsed(request).tools, parsed(request).input] : null);
const isShort = (request: SeenRequest | undefined): boolean => toolsOf(request).includes('⟦PRUNÉ');

describe('tools that are never called', () => {
  it.each(Object.keys(WIRES) as Wire[])(
    'are shortened on %s permanently from the first request, and can be recovered byte for byte',
    async (wire) => {
      const { path, tool, body } = WIRES[wire];
      const tools = [tool('unused'), tool('recover_text')];
      const { upstream, start } = await bench([[wire, body(tools, ['seed'])]]);
      const proxy = await start();
      await send(proxy, path, body(tools, ['Where is the fish?']));
      const first = upstream.last;
      // nothing but descriptions has changed
      const sent = parsed(first);
      const came = body(tools, ['Where is the fish?']);
      const shown = descriptionsIn(sent);
      const bare = (value: unknown): string =>
        JSON.stringify(value, (key, inner: unknown) => (key === 'description' ? '' : inner));
      expect(bare(sent)).toBe(bare(came));
      const cut = shown.filter(([, text]) => text.includes('⟦PRUNÉ'));
      expect(cut).toHaveLength(2);
      for (const [where, text] of cut) {
        const original = descriptionsIn(came).find(([at]) => at === where)?.[1] ?? '';
        const marker = parseMarker(text.split('\n').at(-1) ?? '');
        expect(original.startsWith(text.slice(0, text.lastIndexOf('\n')))).toBe(true);
        expect(await proxy.recover(marker?.pruneId ?? '', 1, original.split('\n').length)).toBe(original);
      }
      await send(proxy, path, body(tools, ['Where is the fish?', 'There.', 'Where?']));
      expect(toolsOf(upstream.last).startsWith(toolsOf(first).slice(0, 500))).toBe(true);
      expect(isShort(upstream.last)).toBe(true);
      await proxy.stop();

      const grown = body(tools, ['Where is the fish?', 'There.', 'Where?', 'Here.', 'Thanks']);
      const measuring = await start({ MCP_PRUNER_TOOL_SHELF: 'measure' });
      await send(measuring, path, grown);
      expect(isShort(upstream.last)).toBe(true);
      await send(measuring, path, body(tools, ['Another question']));
      expect(isShort(upstream.last)).toBe(false);
      await measuring.stop();

      // what the provider verifies stays, whatever is switched off
      for (const env of SWITCHED_OFF) {
        const off = await start(env);
        await send(off, path, grown);
        expect(isShort(upstream.last), JSON.stringify(env)).toBe(wire === 'messages');
        await send(off, path, body(tools, [`New with ${JSON.stringify(env)}`]));
        expect(isShort(upstream.last), JSON.stringify(env)).toBe(false);
        await off.stop();
      }
      const on = await start();
      await send(on, path, grown, { 'x-mcp-pruner': 'off' });
      expect(isShort(upstream.last)).toBe(wire === 'messages');
      await send(on, path, body(tools, ['New and off']), { 'x-mcp-pruner': 'off' });
      expect(isShort(upstream.last)).toBe(false);
    },
    60_000,
  );

  it('are also shortened if Codex adds them in its input', async () => {
    const { path, tool } = WIRES.responses;
    const body = (words: string): object => ({
      ...{ model: 'gpt-5', store: false },
      input: [
        {
          type: 'additional_tools',
          role: 'developer',
          tools: [tool('unused'), { ...tool('late'), defer_loading: true }],
        },
        { type: 'message', role: 'user', content: words },
      ],
    });
    const { upstream, start } = await bench([['responses', body('seed')]]);
    await send(await start(), path, body('hi'));
    const [added] = parsed(upstream.last).input as { tools: { name: string; description: string }[] }[];
    expect(added?.tools.map(({ description }) => description === LONG)).toEqual([false, true]);
  });

  it('stay whole for subscription logins, unless always is set', async () => {
    const { path, tool, body } = WIRES.messages;
    const tools = [tool('unused')];
    const seed = WIRES.responses.body([WIRES.responses.tool('unused')], ['seed']);
    const { upstream, start } = await bench([
      ['messages', body(tools, ['seed'])],
      ['responses', seed],
    ]);
    const logins: readonly Record<string, string>[] = [
      { authorization: 'Bearer sk-ant-oat01-x' },
      { 'anthropic-beta': 'claude-code-20250219,oauth-2025-04-20' },
      { 'chatgpt-account-id': 'a1' },
    ];
    const proxy = await start();
    for (const [i, headers] of logins.entries()) {
      await send(proxy, path, body(tools, [`login ${i}`]), headers);
      expect(isShort(upstream.last)).toBe(false);
    }
    await send(proxy, path, body(tools, ['with a key']), { 'x-api-key': 'k' });
    expect(isShort(upstream.last)).toBe(true);
    await proxy.stop();
    // Codex with a ChatGPT login is known by its address alone
    const chatGpt = await start({ MCP_PRUNER_UPSTREAM_URL: upstream.url.replace('/v1', '/backend-api/codex') });
    const codex = WIRES.responses.body([WIRES.responses.tool('unused')], ['chatgpt']);
    await send(chatGpt, WIRES.responses.path, codex);
    expect([upstream.last.url, isShort(upstream.last)]).toEqual(['/backend-api/codex/responses', false]);
    await chatGpt.stop();
    const always = await start({ MCP_PRUNER_TOOL_SHELF: 'always' });
    await send(always, path, body(tools, ['always']), logins[0]);
    expect(isShort(upstream.last)).toBe(true);
  });

  it('are resent whole if the first request is refused, and stay whole in that conversation', async () => {
    const { path, tool, body } = WIRES.messages;
    const tools = [tool('unused')];
    const { upstream, start } = await bench([['messages', body(tools, ['seed'])]]);
    const proxy = await start();
    upstream.answer = (request, res) => json(res, isShort(request) ? 422 : 200, { type: 'message', content: [] });
    expect(await send(proxy, path, body(tools, ['hi']))).toBe(200);
    expect(upstream.requests.map(isShort)).toEqual([true, false]);
    expect(await send(proxy, path, body(tools, ['hi', 'Hello.', 'go on']))).toBe(200);
    expect(upstream.requests.map(isShort)).toEqual([true, false, false]);
  });

  it('are resent whole on a WebSocket that refuses them, and stay whole in that conversation', async () => {
    const { tool, body } = WIRES.responses;
    const create = (said: string[]): string =>
      JSON.stringify({ type: 'response.create', ...body([tool('unused')], said) });
    const { dbPath, clock } = await bench([['responses', body([tool('unused')], ['seed'])]]);
    const upstream = await startSocketUpstream();
    const isCut = (message: Buffer): boolean => message.includes('⟦PRUNÉ');
    upstream.onMessage = (socket, message) =>
      socket.send(
        isCut(message)
          ? '{"type":"error","status":400,"error":{"type":"invalid_request_error"}}'
          : '{"type":"response.completed","response":{"id":"r"}}',
      );
    const proxy = await startProxy(upstream.url, { dbPath, clock, env: { MCP_PRUNER_TOOL_SHELF: 'on' } });
    const client = await openSocket(proxy.url, { headers: { 'user-agent': 'agent/1.0' } });
    client.socket.send(create(['hi']));
    expect((await client.received(1)).map(String)).toEqual([expect.stringContaining('response.completed')]);
    client.socket.send(create(['hi', 'Hello.', 'go on']));
    await client.received(2);
    expect(upstream.last.messages.map(isCut)).toEqual([true, false, false]);
  });

  it('cause refusals to be passed on unchanged once the provider has accepted the shortened tools', async () => {
    const { path, tool, body } = WIRES.messages;
    const tools = [tool('unused')];
    const { upstream, start } = await bench([['messages', body(tools, ['seed'])]]);
    const proxy = await start();
    expect(await send(proxy, path, body(tools, ['hi']))).toBe(200);
    upstream.answer = (_request, res) => json(res, 400, { type: 'error' });
    expect(await send(proxy, path, body(tools, ['hi']))).toBe(400);
    expect(await send(proxy, path, body(tools, ['hi', 'Hello.', 'go on']))).toBe(400);
    expect(upstream.requests.map(isShort)).toEqual([true, true, true]);
  });

  it('are sent whole from the next conversation on after a call, which counts as regret', async () => {
    const { path, tool, body } = WIRES.chat;
    const tools = [tool('unused'), tool('other')];
    const { upstream, start, dbPath, clock } = await bench([['chat', body(tools, ['seed'])]]);
    const proxy = await start();
    const call = { id: 'c1', type: 'function', function: { name: 'unused', arguments: '{}' } };
    const usage = { prompt_tokens: 4_000, completion_tokens: 5, total_tokens: 4_005 };
    upstream.answer = (_request, res, index) => {
      const message = { role: 'assistant', content: 'Done.', ...(index === 0 && { tool_calls: [call] }) };
      json(res, 200, { id: 'x', object: 'chat.completion', model: 'gpt-5', choices: [{ index: 0, message }], usage });
    };
    await send(proxy, path, body(tools, ['hi']));
    const called = {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'c1', content: 'x' },
      ],
    };
    await send(proxy, path, { ...body(tools, []), ...called });
    const cutNames = ({ body: bytes }: SeenRequest): string[] =>
      (JSON.parse(bytes.toString()) as { tools: { function: { name: string; description: string } }[] }).tools
        .filter((one) => one.function.description !== LONG)
        .map((one) => one.function.name);
    expect(upstream.requests.map(cutNames)).toEqual([
      ['unused', 'other'],
      ['unused', 'other'],
    ]);
    await proxy.stop();
    const given = { env: { MCP_PRUNER_DB_PATH: dbPath, MCP_PRUNER_TOOL_SHELF: 'on' }, clock };
    const { tool_shelf } = JSON.parse((await run(['report', '--json'], given)).out);
    expect(tool_shelf).toMatchObject({ setting: 'on', shelf_called: 1, would_save: { tokens: 0, usd: 0 } });
    expect(tool_shelf.saved.usd / tool_shelf.saved.tokens).toBeCloseTo(1.25e-6);
    const listed = JSON.parse((await run(['report', '--tools', '--json'], given)).out) as {
      name: string;
      state: string;
    }[];
    expect(Object.fromEntries(listed.map(({ name, state }) => [name, state]))).toEqual({
      unused: 'whole',
      other: 'shortened',
    });
    const again = await start();
    await send(again, path, body(tools, ['another one']));
    expect(cutNames(upstream.last)).toEqual(['other']);
  });

  it('are counted in all answered requests, including the last one', async () => {
    const { path, tool, body } = WIRES.chat;
    const tools = [tool('unused')];
    const { upstream, start, clock } = await bench([]);
    const proxy = await start();
    for (const i of [1, 2, 3, 4]) await send(proxy, path, body(tools, [`question ${i}`]));
    clock.now += 86_400_000;
    for (const i of [5, 6]) await send(proxy, path, body(tools, [`question ${i}`]));
    expect(upstream.requests.map(isShort)).toEqual([false, false, false, false, false, true]);
  });

  it('stay whole if the settings exclude their name', async () => {
    const { path, tool, body } = WIRES.chat;
    const { upstream, start } = await bench([['chat', body([tool('mcp__git__log')], ['seed'])]]);
    await send(
      await start({ MCP_PRUNER_TOOL_SHELF_NEVER: 'mcp__git__*' }),
      path,
      body([tool('mcp__git__log')], ['hi']),
    );
    expect(isShort(upstream.last)).toBe(false);
  });
});
