import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { edition } from 'mcp-pruner/edition.ts';
import { expect, it } from 'vitest';
import { send } from '../../../bench/conformance/answering.ts';
import { Correspondent } from '../../../bench/conformance/correspondent.ts';
import { answerResponses, compactResponses } from '../../../bench/conformance/openai.ts';
import type { Json } from '../../../bench/conformance/types.ts';
import { Random } from '../../../bench/fuzz/random.ts';
import { makeText } from '../../../bench/fuzz/texts.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { json, type SeenRequest, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { makeStore } from '../../../test/helpers/new-store.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';
import { BEGAN_MS, jsonOf, tokensOf, withHost } from './provider.ts';

const MODEL = 'gpt-6.2-sol';
const DEVELOPER = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be careful.' }] };

function isAsked({ url, body }: SeenRequest): boolean {
  return url.endsWith('/compact') || body.includes('compaction_trigger');
}

/** A store with conversations that ended before, so that the pace is known. */
let seeded: Buffer | undefined;

/** OpenAI as documented, a proxy before it, and Codex with one conversation. */
async function openWorld(
  env: Record<string, string> = {},
  headers: Record<string, string> = { authorization: 'Bearer sk-one' },
) {
  const clock = { now: BEGAN_MS, nowMs: () => clock.now };
  const agent = new Correspondent('one', 'responses', true);
  const [stored, summaries] = [new Map(), new Map()];
  const hook: { answer: (...of: Parameters<Parameters<typeof startUpstream>[0] & object>) => boolean } = {
    answer: () => false,
  };
  const upstream = await startUpstream((request, res, index) => {
    if (hook.answer(request, res, index)) return;
    const exchange = { path: request.url, headers: request.headers, body: jsonOf(request), agent, stored, summaries };
    agent.requests++;
    send(res, request.url.endsWith('/compact') ? compactResponses(exchange) : answerResponses(exchange));
  });
  const host = new URL(upstream.url).host;
  const dbPath = join(tempFolder(), 'store.db');
  if (seeded !== undefined) writeFileSync(dbPath, seeded);
  else makeStore(dbPath, edition.tables);
  const proxy = await startProxy(upstream, {
    dbPath,
    clock,
    env: withHost({ MCP_PRUNER_SEAMS: 'on', ...env }, host),
  });
  const world = {
    ...{ agent, upstream, proxy, clock, hook },
    input: [] as Json[],
    session: 'one',
    model: MODEL,
    more: {} as Json,
    async send(more: Record<string, string> = {}): Promise<number> {
      const answer = await fetch(`${proxy.url}/v1/responses`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', session_id: world.session, ...headers, ...more },
        body: JSON.stringify({
          ...{ model: world.model, instructions: 'You are Codex.', input: world.input, tools: [], tool_choice: 'auto' },
          ...{ reasoning: { effort: 'medium' }, store: false, stream: true, include: ['reasoning.encrypted_content'] },
          ...{ prompt_cache_key: world.session, ...world.more },
        }),
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

it('with a key, the endpoint is asked; its output replaces the items behind the instructions, in order', async () => {
  const world = await openWorld();
  await world.task('Fix the checkout of the shop, please.', 6);
  await world.say('Now the invoices: why is the total wrong?');
  await world.result('made');
  const [asked] = world.asked;
  const seam = jsonOf(world.upstream.requests.filter((request) => !isAsked(request)).at(-1) as SeenRequest);
  const body = jsonOf(asked as SeenRequest);
  expect(asked?.url).toBe('/v1/responses/compact');
  expect(Object.keys(body).sort()).toEqual(['input', 'instructions', 'model', 'prompt_cache_key']);
  expect(body.input).toEqual((seam.input as Json[]).slice(0, -1));
  const before = world.input.length;
  await world.say('Show the query.');
  const { forwarded } = world;
  expect(forwarded.slice(0, 3)).toEqual([
    DEVELOPER,
    expect.objectContaining({ role: 'user' }),
    expect.objectContaining({ type: 'compaction' }),
  ]);
  expect(forwarded.length).toBeLessThan(before - 10);
  expect(JSON.stringify(forwarded.at(-1))).toContain('recall');
  for (let i = 0; i < 3; i++) await world.say(`Go on, part ${i}.`);
  await world.proxy.restart();
  await world.say('And the index?');
  expect(world.forwarded.slice(0, forwarded.length)).toEqual(forwarded);
  expect([world.agent.breaks, world.agent.swapped]).toEqual([[], 5]);
});

it('with a login, an ordinary request that ends in a trigger is sent, and the words of the user stay before the item', async () => {
  const login = { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.x', 'chatgpt-account-id': 'acct' };
  const world = await openWorld({ MCP_PRUNER_SEAMS_LOGINS: 'true' }, login);
  await world.task('Fix the checkout of the shop, please.', 6);
  await world.say('Now the invoices: why is the total wrong?');
  await world.result('made');
  const body = jsonOf(world.asked[0] as SeenRequest);
  expect(world.asked[0]?.url).toBe('/v1/responses');
  expect((body.input as Json[]).at(-1)).toEqual({ type: 'compaction_trigger' });
  expect(body).toMatchObject({ stream: true, tool_choice: 'auto', reasoning: { effort: 'medium' } });
  await world.say('Show the query.');
  expect(world.forwarded.slice(0, 3)).toEqual([
    DEVELOPER,
    expect.objectContaining({ role: 'user' }),
    expect.objectContaining({ type: 'compaction' }),
  ]);
  for (let i = 0; i < 3; i++) await world.say(`Go on, part ${i}.`);
  expect([world.agent.breaks, world.agent.swapped]).toEqual([[], 4]);
});

it('another model loses only the reasoning made with the block by its own model, never its own', async () => {
  const world = await openWorld();
  world.agent.hasSummaries = true; // whole histories leave some reasoning out
  await world.task('Fix the checkout of the shop, please.', 6);
  await world.say('Now the invoices: why is the total wrong?');
  await world.result('made');
  world.agent.tokensOf = () => 1_000; // no further summary
  const reasoningIn = (items: readonly Json[]) =>
    items.flatMap(({ type, id }) => (type === 'reasoning' ? String(id) : []));
  const withBlock: string[] = [];
  const plan = ['gpt-6.2-sol', 'gpt-6.2-astra', 'gpt-6.2-astra', 'gpt-6.2-sol', 'gpt-6.2-astra'];
  for (const [i, model] of plan.entries()) {
    world.model = model;
    const isOther = model !== MODEL;
    const from = world.input.length;
    await world.task(`Part ${i}: show the query.`, 2);
    if (!isOther) withBlock.push(...reasoningIn(world.input.slice(from)));
    const came = reasoningIn(world.input.slice(0, world.input.length - world.agent.answer.length));
    const forwarded = reasoningIn(world.forwarded);
    expect(isOther ? came.filter((id) => !withBlock.includes(id)) : came.slice(-forwarded.length)).toEqual(forwarded);
    expect(world.agent.breaks).toEqual([]);
    if (i === 2) await world.proxy.restart();
  }
  expect(withBlock).toHaveLength(6);
});

it.each([
  ['a stored history', { store: true }],
  ['a conversation of the provider', { conversation: 'conv_1' }],
  ['its own management', { context_management: [{ type: 'compaction', compact_threshold: 200_000 }] }],
])('a client with %s gets no summary', async (_what, more) => {
  const world = await openWorld();
  world.more = more;
  await world.task('Fix the checkout of the shop, please.', 6);
  await world.say('Now the invoices: why is the total wrong?');
  await world.say('Show the query.');
  await world.proxy.stop();
  expect(world.asked).toEqual([]);
});

it("Codex' own compaction passes byte for byte, and nothing is added to it", async () => {
  const world = await openWorld({ MCP_PRUNER_SEAMS_LOGINS: 'true' });
  await world.task('Fix the checkout of the shop, please.', 2);
  world.input.push({ type: 'compaction_trigger' });
  expect(await world.send()).toBe(200);
  expect((jsonOf(world.asked[0] as SeenRequest).input as Json[]).at(-1)).toEqual({ type: 'compaction_trigger' });
  const block = { type: 'compaction', encrypted_content: 'of Codex itself' };
  world.input = [
    DEVELOPER,
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Fix it.' }] },
    block,
  ];
  world.agent.rewrite();
  await world.task('Go on with the checkout of the shop.', 8);
  await world.say('Now the invoices: why is the total wrong?');
  await world.say('Show the query.');
  expect(world.forwarded.slice(0, 4)).toEqual(world.input.slice(0, 4));
  expect(world.forwarded).toHaveLength(world.input.length - world.agent.answer.length);
  await world.proxy.stop();
  expect(world.asked).toHaveLength(1);
});

it.each([
  ['no block', { output: [] }],
  [
    'two blocks',
    {
      output: [
        { type: 'compaction', encrypted_content: 'a' },
        { type: 'compaction', encrypted_content: 'b' },
      ],
    },
  ],
  ['an empty block', { output: [{ type: 'compaction', encrypted_content: '' }] }],
  [
    'other items',
    {
      output: [
        { type: 'function_call', call_id: 'c', name: 'shell', arguments: '{}' },
        { type: 'compaction', encrypted_content: 'a' },
      ],
    },
  ],
])('an answer with %s is not used', async (_what, answer) => {
  const world = await openWorld();
  world.hook.answer = (request, res) => {
    if (!isAsked(request)) return false;
    json(res, 200, answer);
    return true;
  };
  await world.task('Fix the checkout of the shop, please.', 6);
  await world.say('Now the invoices: why is the total wrong?');
  await world.result('failed');
  await world.say('Show the query.');
  expect([world.agent.swapped, world.agent.breaks]).toEqual([0, []]);
});

it("xAI's Responses API compacts at the same endpoint", async () => {
  const world = await openWorld();
  world.model = 'grok-4.7';
  await world.task('Fix the checkout of the shop, please.', 6);
  await world.say('Now the invoices: why is the total wrong?');
  await world.result('made');
  const [asked] = world.asked;
  expect([asked?.url, jsonOf(asked as SeenRequest).model]).toEqual(['/v1/responses/compact', 'grok-4.7']);
  await world.say('Show the query.');
  expect(world.forwarded).toContainEqual(expect.objectContaining({ type: 'compaction' }));
  await world.say('And the index?');
  expect(world.agent.breaks).toEqual([]);
});
