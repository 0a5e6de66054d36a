import { expect, it } from 'vitest';
import type { Json } from '../../../bench/conformance/types.ts';
import { json, type SeenRequest } from '../../../test/helpers/fake-upstream.ts';
import { jsonOf } from './provider.ts';
import { DEVELOPER, isAsked, MODEL, openWorld } from './responses-world.ts';

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
