import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { edition } from 'mcp-pruner/edition.ts';
import { expect } from 'vitest';
import { send } from '../../../bench/conformance/answering.ts';
import { Correspondent } from '../../../bench/conformance/correspondent.ts';
import { answerFrame, answerResponses, compactResponses } from '../../../bench/conformance/openai.ts';
import type { Json } from '../../../bench/conformance/types.ts';
import { Random } from '../../../bench/fuzz/random.ts';
import { makeText } from '../../../bench/fuzz/texts.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { type SeenRequest, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { makeStore } from '../../../test/helpers/new-store.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { openSocket, type SocketClient } from '../../../test/helpers/socket-client.ts';
import { until } from '../../../test/helpers/until.ts';
import { BEGAN_MS, jsonOf, tokensOf, withHost } from './provider.ts';

export const MODEL = 'gpt-6.2-sol';
export const DEVELOPER = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be careful.' }] };

export function isAsked({ url, body }: SeenRequest): boolean {
  return url.endsWith('/compact') || body.includes('compaction_trigger');
}

/** A store with conversations that ended before, so that the pace is known. */
let seeded: Buffer | undefined;

/** OpenAI as documented, a proxy before it, and Codex with one conversation. */
export async function openWorld(
  env: Record<string, string> = {},
  headers: Record<string, string> = { authorization: 'Bearer sk-one' },
) {
  const clock = { now: BEGAN_MS, nowMs: () => clock.now };
  const agent = new Correspondent('one', 'responses', true);
  const [stored, summaries] = [new Map(), new Map()];
  const hook = {
    /** Replaces an answer. @returns false: the provider answers */
    answer: (..._of: Parameters<Parameters<typeof startUpstream>[0] & object>): boolean => false,
    /** An event instead of the answer to a frame; `null`: the provider answers. */
    frame: (_body: Json): Json | null => null,
  };
  const upstream = await startUpstream((request, res, index) => {
    if (hook.answer(request, res, index)) return;
    const exchange = { path: request.url, headers: request.headers, body: jsonOf(request), agent, stored, summaries };
    agent.requests++;
    send(res, request.url.endsWith('/compact') ? compactResponses(exchange) : answerResponses(exchange));
  });
  /** Frames that arrived. */
  const frames: Json[] = [];
  upstream.acceptSockets((socket, message) => {
    const body = JSON.parse(message.toString('utf8')) as Json;
    frames.push(body);
    const refusal = hook.frame(body);
    if (refusal !== null) return socket.send(JSON.stringify(refusal));
    const exchange = { path: '', headers: {}, body, agent, stored, summaries };
    agent.requests++;
    for (const event of answerFrame(exchange, socket)) socket.send(JSON.stringify(event));
  });
  const host = new URL(upstream.url).host;
  const dbPath = join(tempFolder(), 'store.db');
  if (seeded !== undefined) writeFileSync(dbPath, seeded);
  else makeStore(dbPath, edition.tables);
  const start = (own: Record<string, string>) =>
    startProxy(upstream, { dbPath, clock, env: withHost({ MCP_PRUNER_SEAMS: 'on', ...own }, host) });
  let proxy = await start(env);
  const world = {
    ...{ agent, upstream, clock, hook, frames },
    get proxy() {
      return proxy;
    },
    /** Goes on with another run of the proxy. */
    async useSettings(own: Record<string, string>): Promise<void> {
      await proxy.stop();
      proxy = await start(own);
    },
    /** The connection of a client that sends frames, the last answer on it, and the number of items up to that. */
    socket: null as { client: SocketClient; previous: string; kept: number } | null,
    input: [] as Json[],
    session: 'one',
    model: MODEL,
    more: {} as Json,
    get body(): Json {
      return {
        ...{ model: world.model, instructions: 'You are Codex.', input: world.input, tools: [], tool_choice: 'auto' },
        ...{ reasoning: { effort: 'medium' }, store: false, stream: true, include: ['reasoning.encrypted_content'] },
        ...{ prompt_cache_key: world.session, ...world.more },
      };
    },
    /** Goes on over a new connection. Like Codex, the client may send the instructions first. */
    async connect(isPrepared: boolean): Promise<void> {
      const client = await openSocket(proxy.url, { headers: { session_id: world.session, ...headers } });
      world.socket = { client, previous: '', kept: 0 };
      if (!isPrepared) return;
      expect(await world.frame({ ...world.body, input: [DEVELOPER], generate: false })).toBe(200);
      world.socket = { client, previous: agent.answerId, kept: 1 };
    },
    /** Sends a frame. @returns the status of its answer */
    async frame(body: Json): Promise<number> {
      const { client } = world.socket as { client: SocketClient };
      const last = client.messages.length;
      client.socket.send(JSON.stringify({ type: 'response.create', ...body }));
      const ended = await until(() =>
        client.messages
          .slice(last)
          .map((message) => JSON.parse(message.toString('utf8')) as { type: string; status?: number })
          .find(({ type }) => type === 'response.completed' || type === 'error'),
      );
      clock.now += 10_000;
      return ended.status ?? 200;
    },
    async send(more: Record<string, string> = {}): Promise<number> {
      if (world.socket !== null) {
        const { previous, kept } = world.socket;
        const own = previous === '' ? {} : { previous_response_id: previous, input: world.input.slice(kept) };
        return world.frame({ ...world.body, ...own });
      }
      const answer = await fetch(`${proxy.url}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', session_id: world.session, ...headers, ...more },
        body: JSON.stringify(world.body),
      });
      await answer.text();
      clock.now += 10_000;
      return answer.status;
    },
    async turn(items: Json[], calls = 0): Promise<void> {
      world.input.push(...items);
      agent.script = {
        ...agent.script,
        calls: Array.from({ length: calls }, () => ({ name: 'shell', args: { command: 'ls' } })),
        says: calls === 0 ? 'Done.' : '',
      };
      expect(await world.send()).toBe(200);
      world.input.push(...agent.answer);
      if (world.socket !== null) world.socket = { ...world.socket, previous: agent.answerId, kept: world.input.length };
    },
    say: (text: string, calls = 0) =>
      world.turn([{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }], calls),
    async task(words: string, turns: number): Promise<void> {
      await world.say(words, 1);
      for (let i = 1; i <= turns; i++) {
        const { call_id } = world.input.at(-1) as Json;
        await world.turn(
          [{ type: 'function_call_output', call_id, output: makeText(new Random(i), 120) }],
          i < turns ? 1 : 0,
        );
      }
    },
    get asked() {
      return upstream.requests.filter(isAsked);
    },
    get forwarded(): Json[] {
      const last = upstream.requests.filter((request) => !isAsked(request)).at(-1);
      return jsonOf(last as SeenRequest).input as Json[];
    },
    result: (result: string) =>
      until(async () =>
        (await (await fetch(`${proxy.url}/metrics`)).text()).includes(`seam_compactions_total{result="${result}"} 1`),
      ),
    asksFor: (count: number) => until(() => world.asked.length >= count),
    begin(session: string): void {
      world.session = session;
      world.input = [DEVELOPER];
      agent.rewrite();
    },
  };
  if (seeded === undefined) {
    agent.tokensOf = () => 900_000;
    for (let i = 0; i < 6; i++) {
      world.begin(`ended-${i}`);
      for (let turn = 0; turn < 14; turn++) await world.say(`Task ${i}, part ${turn}: go on.`);
    }
    await proxy.stop();
    seeded = readFileSync(proxy.dbPath);
    await proxy.start();
  }
  upstream.requests.length = 0;
  clock.now += 5 * 3_600_000;
  agent.tokensOf = tokensOf;
  world.begin('one');
  return world;
}
