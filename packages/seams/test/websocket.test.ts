import { expect, it } from 'vitest';
import type { Json } from '../../../bench/conformance/types.ts';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { isAsked, openWorld } from './responses-world.ts';

type World = Awaited<ReturnType<typeof openWorld>>;

/** A conversation over POST whose finished work was summarised. */
async function withSummary(env: Record<string, string> = {}): Promise<World> {
  const world = await openWorld(env);
  await world.task('Fix the checkout of the shop, please.', 6);
  await world.say('Now the invoices: why is the total wrong?');
  await world.result('made');
  return world;
}

function hasBlock({ input }: Json): boolean {
  return (input as Json[]).some(({ type }) => type === 'compaction');
}

/** How often reasoning was lost, a request refused, or an item changed. */
function faultsOf({ agent }: World): number {
  return agent.breaks.length;
}

it.each([
  ['behind its instructions, as Codex sends it', true],
  ['whole', false],
])(
  'a history with a block that goes on over a WebSocket, %s, has the bytes that POST would send',
  async (_how, isPrepared) => {
    const world = await withSummary();
    await world.task('Show the query.', 2);
    await world.connect(isPrepared);
    await world.say('And the index?');
    const [first] = world.frames.slice(isPrepared ? 1 : 0);
    expect([hasBlock(first as Json), Object.keys(first as Json)]).toEqual([true, ['type', ...Object.keys(world.body)]]);
    const { input } = first as { input: Json[] };
    await world.task('Now the view.', 2); // only new items: the provider has the others, with the block
    const later = world.frames.at(-1) as { input: Json[]; previous_response_id: string };
    expect([later.input.length, later.previous_response_id]).toEqual([1, expect.any(String)]);
    expect([world.asked.length, faultsOf(world)]).toEqual([1, 0]);

    world.socket = null;
    await world.say('Back on POST.');
    expect(world.forwarded.slice(0, input.length)).toEqual(input);
    await world.useSettings({ MCP_PRUNER_SEAMS: 'off', MCP_PRUNER_ENABLED: 'false' });
    await world.connect(isPrepared);
    await world.task('And the tests.', 2);
    const again = world.frames.filter(hasBlock).at(-1) as { input: Json[] };
    expect(again.input.slice(0, input.length)).toEqual(input);
    await world.proxy.restart();
    world.socket = null;
    await world.task('And the docs.', 2);
    expect([hasBlock({ input: world.forwarded }), faultsOf(world)]).toEqual([true, 0]);
  },
);

it('a block that is first sent in a frame and refused is given up: the whole history goes out once', async () => {
  const world = await withSummary();
  let refused = 0;
  world.hook.frame = (body) => {
    if (!hasBlock(body)) return null;
    refused++;
    return { type: 'error', status: 400, error: { type: 'invalid_request_error', code: 'invalid_encrypted_content' } };
  };
  await world.connect(true);
  await world.say('Show the query.');
  expect(world.frames.map(hasBlock)).toEqual([false, true, false]);
  await world.task('And the index?', 2);
  await world.connect(true);
  await world.say('And the view?');
  world.socket = null;
  await world.say('Back on POST.');
  expect([refused, hasBlock({ input: world.forwarded }), faultsOf(world)]).toEqual([1, false, 0]);
});

it('a block that was accepted in a frame and is refused in a later one stays: the history goes out once without what was thought with it', async () => {
  const world = await withSummary();
  await world.connect(false);
  await world.task('Show the query.', 2);
  let refused = 0;
  world.hook.frame = (body) => {
    if (!hasBlock(body) || refused > 0) return null;
    refused++;
    return { type: 'error', status: 400, error: { type: 'invalid_request_error' } };
  };
  world.agent.hasSummaries = true;
  world.agent.rewrite();
  await world.connect(false);
  await world.say('And the index?');
  expect(world.frames.slice(-2).map(hasBlock)).toEqual([true, false]);
  world.socket = null;
  await world.say('Back on POST.');
  expect([refused, hasBlock({ input: world.forwarded }), faultsOf(world)]).toEqual([1, true, 0]);
});

it('no summary is made over a WebSocket', async () => {
  const world = await openWorld();
  await world.connect(false);
  await world.task('Fix the checkout of the shop, please.', 6);
  await world.connect(false);
  await world.say('Now the invoices: why is the total wrong?');
  expect((world.frames.at(-1) as { input: Json[] }).input.length).toBeGreaterThan(20);
  await world.say('Go on.');
  const metrics = await (await fetch(`${world.proxy.url}/metrics`)).text();
  expect(metrics).toContain('mcp_pruner_seam_compactions_total{result="failed"} 0');
  world.socket = null;
  await world.say('Back on POST.'); // the first seam at which one is made
  await world.result('made');
  expect([world.asked.length, faultsOf(world)]).toEqual([1, 0]);
});

it('a summary under way is given up if the conversation goes on over a WebSocket: later frames could not have it', async () => {
  const world = await openWorld();
  await world.task('Fix the checkout of the shop, please.', 6);
  let answer = (): void => {};
  world.hook.answer = (request, res) => {
    if (!isAsked(request)) return false;
    answer = () => json(res, 200, { output: [{ type: 'compaction', encrypted_content: 'too late' }] });
    return true;
  };
  await world.say('Now the invoices: why is the total wrong?');
  await world.asksFor(1);
  await world.connect(true);
  await world.say('Show the query.');
  answer();
  await world.result('made');
  await world.task('And the index?', 2);
  world.socket = null;
  await world.say('Back on POST.');
  expect([world.asked.length, hasBlock({ input: world.forwarded }), faultsOf(world)]).toEqual([1, false, 0]);
});
