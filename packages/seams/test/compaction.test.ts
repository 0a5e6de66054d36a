import { expect, it } from 'vitest';
import type { Json } from '../../../bench/conformance/types.ts';
import type { SeamsReport } from '../../../src/core/ports/seams-report.ts';
import { sqliteDriver } from '../../../src/store/sqlite/driver.ts';
import { run } from '../../../test/cli/fake-io.ts';
import { json, type SeenRequest } from '../../../test/helpers/fake-upstream.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';
import { LOST_MS } from '../src/book.ts';
import { asksForSummary, jsonOf, openWorld, type SeamWorld, withHost } from './provider.ts';

it('finished work is summarised beside the request that begins the next task, and replaced from the next request on', async () => {
  const world = await openWorld();
  await world.toSummary();
  const [asked] = world.asked;
  const seam = world.turns.at(-1);
  if (asked === undefined || seam === undefined) throw new Error('nothing was asked');
  // the seam's own request is as without the part
  expect(jsonOf(seam).messages).toHaveLength(19);
  expect(seam.headers['anthropic-beta'] ?? '').not.toContain('compact');
  const [body, whole] = [jsonOf(asked), jsonOf(seam)];
  expect(body).toMatchObject({
    model: 'claude-opus-5',
    max_tokens: 8_192,
    stream: true,
    compaction: { type: 'summarize' },
  });
  expect(body.messages).toEqual((whole.messages as Json[]).slice(0, 18));
  expect(JSON.stringify([body.system, body.tools, body.thinking])).toBe(
    JSON.stringify([whole.system, whole.tools, whole.thinking]),
  );
  expect(asked.headers).toMatchObject({ 'x-api-key': 'sk-one', 'anthropic-beta': 'compact-2026-09-04' });
  expect(Object.keys(asked.headers).filter((name) => name.startsWith('x-mcp-pruner'))).toEqual([]);

  await world.turn('Show the query.');
  expect(world.isSwapped).toBe(true);
  expect(world.forwarded[0]).toEqual({
    role: 'assistant',
    content: [expect.objectContaining({ type: 'compaction' })],
  });
  expect(world.forwarded.slice(1, 3)).toEqual(world.messages.slice(18, 20));
  expect(JSON.stringify(world.forwarded.at(-1))).toContain('recall');
  for (let i = 0; i < 3; i++) await world.turn(`Go on, part ${i}.`);
  expect(world.forwarded).toHaveLength(10);
  expect(world.agent.breaks).toEqual([]);
  expect(world.upstream.requests.filter(asksForSummary)).toHaveLength(1);
});

it('no request waits for a summary: those meanwhile go out whole, and what they thought stays behind the block', async () => {
  const world = await openWorld();
  const release = world.holdSummaries();
  await world.task('Fix the checkout of the shop, please.', 8);
  await world.turn('Now the invoices: why is the total wrong?');
  await until(() => world.asked.length === 1);
  for (let i = 0; i < 3; i++) await world.turn(`Go on, part ${i}.`);
  expect(world.isSwapped).toBe(false);
  release();
  await world.result('made');
  await world.turn('Show the query.');
  expect(world.isSwapped).toBe(true);
  expect(world.forwarded.slice(1, -1)).toEqual(world.messages.slice(18, -2));
  expect(JSON.stringify(world.forwarded.slice(1))).toContain('"type":"thinking"');
  expect(world.agent.breaks).toEqual([]);
});

/** Sends the same conversation through another run of the product on the same store. */
async function again(world: SeamWorld, env: Record<string, string>, headers: Record<string, string> = {}) {
  await world.proxy.stop();
  const host = new URL(world.upstream.url).host;
  const { clock, proxy, upstream } = world;
  const other = await startProxy(upstream, {
    clock,
    dbPath: proxy.dbPath,
    env: withHost(env, host),
  });
  const answer = await fetch(`${other.url}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'sk-two', ...headers },
    body: JSON.stringify(world.body()),
  });
  const { status } = answer;
  await answer.text();
  await other.stop();
  await proxy.start();
  return { status, body: (upstream.last as SeenRequest).body.toString('utf8') };
}

it('a block stays byte for byte: after a restart, for another key, with everything switched off', async () => {
  const world = await openWorld();
  await world.toSummary();
  await world.turn('Show the query.');
  const block = JSON.stringify(world.forwarded[0]);
  world.messages.push({ role: 'user', content: 'And the index?' });
  await world.send();
  const first = (world.turns.at(-1) as SeenRequest).body.toString('utf8');
  expect(first).toContain(`"messages":[${block},`);
  const runs: [env: Record<string, string>, headers?: Record<string, string>][] = [
    [{ MCP_PRUNER_SEAMS: 'on' }],
    [{ MCP_PRUNER_SEAMS: 'off' }],
    [{}],
    [{ MCP_PRUNER_SEAMS: 'on', MCP_PRUNER_ENABLED: 'false' }],
    [{ MCP_PRUNER_SEAMS: 'on', MCP_PRUNER_MODE: 'shadow' }],
    [{ MCP_PRUNER_SEAMS: 'on', MCP_PRUNER_HOLDOUT: '1' }],
    [{ MCP_PRUNER_SEAMS: 'on' }, { 'x-mcp-pruner': 'off' }],
    [{ MCP_PRUNER_SEAMS: 'on' }, { 'x-mcp-pruner-seams': 'off' }],
  ];
  for (const [env, headers] of runs)
    expect([env, headers, await again(world, env, headers)]).toEqual([env, headers, { status: 200, body: first }]);
  expect(world.agent.breaks).toEqual([]);
});

it('a block that came while a request went out without it is discarded', async () => {
  const world = await openWorld();
  await world.toSummary();
  world.model = 'claude-sonnet-5';
  await world.turn('Which one is slower?'); // began after the block came, and goes whole to another model
  world.model = 'claude-opus-5';
  await world.turn('And now?');
  await world.turn('Show the query.');
  expect([world.isSwapped, world.agent.breaks]).toEqual([false, []]);
});

it('counting tokens counts the block, and does not claim it', async () => {
  const world = await openWorld();
  await world.toSummary();
  const count = async () => {
    const { status } = await world.send({}, '/v1/messages/count_tokens');
    expect(status).toBe(200);
    return world.isSwapped;
  };
  expect(await count()).toBe(false);
  await world.turn('Show the query.');
  expect(world.isSwapped).toBe(true);
  expect(await count()).toBe(true);
  expect(world.agent.breaks).toEqual([]);
});

it('another model and a conversation that was rewound get no block; back on the old one, it is sent again', async () => {
  const world = await openWorld();
  await world.toSummary();
  await world.turn('Show the query.');
  await world.turn('And the index?');
  const kept = world.messages;
  world.model = 'claude-sonnet-5';
  await world.turn('Which one is slower?');
  expect(world.isSwapped).toBe(false);
  expect(world.agent.breaks).toEqual([]);
  world.model = 'claude-opus-5';
  await world.turn('And now?');
  expect(world.isSwapped).toBe(true);
  expect(world.agent.breaks).toEqual([]);
  const far = world.messages;
  world.messages = kept.slice(0, 6);
  world.agent.rewrite();
  await world.turn('Stop, something else.');
  expect(world.isSwapped).toBe(false);
  world.messages = [{ role: 'user', content: 'The session so far: the checkout works.' }];
  world.agent.rewrite();
  await world.turn('Go on.');
  expect(world.isSwapped).toBe(false);
  world.messages = far;
  world.agent.rewrite();
  await world.turn('Back again.');
  expect(world.isSwapped).toBe(true);
  expect(world.agent.breaks).toEqual([]);
});

it('a block that is refused at its first request is given up: the whole history goes out once', async () => {
  const world = await openWorld();
  await world.toSummary();
  let refused = 0;
  world.intercept.answer = (request, res) => {
    if (!request.body.includes('"type":"compaction"') || asksForSummary(request)) return false;
    refused++;
    json(res, 400, {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'compaction_signature_invalid' },
    });
    return true;
  };
  await world.turn('Show the query.');
  expect([refused, world.isSwapped]).toEqual([1, false]);
  for (let i = 0; i < 3; i++) await world.turn(`Go on, part ${i}.`);
  await world.proxy.restart();
  await world.turn('And the index?');
  expect([refused, world.isSwapped]).toEqual([1, false]);
  expect(world.agent.breaks).toEqual([]);
  const warned = (await world.proxy.logLines()).filter(({ msg }) => String(msg).includes('refused its own summary'));
  expect(warned).toHaveLength(1);
  await world.proxy.stop();
  const given = { env: { MCP_PRUNER_DB_PATH: world.proxy.dbPath }, clock: world.clock };
  const why = await run(['why', '--latest'], given);
  expect(why.out).toMatch(/summary of [\d,]+ tokens of finished work: refused by the provider and given up/);
  const shown = JSON.parse((await run(['why', '--latest', '--json'], given)).out) as { summaries: Json[] };
  expect(shown.summaries).toMatchObject([{ outcome: expect.stringContaining('refused'), tokens: 180_010 }]);
  const doctor = JSON.parse((await run(['doctor', '--json'], given)).out) as { what: string }[];
  const found = doctor.filter(({ what }) => what.includes('refused 1 of their own summaries'));
  expect(found).toHaveLength(1);
});

it.each([1, 2])(
  'a block that is refused at the fifth request stays, and the whole history goes out without what was thought since (%i times)',
  async (times) => {
    const world = await openWorld();
    await world.toSummary();
    let [sent, refused] = [0, 0];
    const error = { type: 'error', error: { type: 'invalid_request_error', message: 'too busy to read it' } };
    const fallbacks: Json[] = [];
    world.intercept.answer = (request, res) => {
      const isSwapped = request.body.includes('"type":"compaction"');
      if (asksForSummary(request)) return false;
      if (!isSwapped) fallbacks.push(jsonOf(request));
      if (isSwapped ? ++sent !== 5 : times === 1) return false;
      refused++;
      json(res, 400, error);
      return true;
    };
    for (let i = 0; i < 4; i++) await world.turn(`Go on, part ${i}.`);
    world.messages.push({ role: 'user', content: 'And the index?' });
    world.agent.script = { ...world.agent.script, calls: [], says: 'No.' };
    const { status } = await world.send();
    expect([status, refused, fallbacks.length]).toEqual(times === 1 ? [200, 1, 1] : [400, 2, 1]);
    const [fallback] = fallbacks;
    const all = (fallback?.messages ?? []) as Json[];
    expect(JSON.stringify(all.slice(20))).not.toContain('"type":"thinking"');
    expect(JSON.stringify(all.slice(0, 20))).toContain('"type":"thinking"');
    if (times === 1) world.messages.push(...world.agent.answer);
    else world.messages.pop();
    await world.turn('Which one is slower?');
    expect(world.isSwapped).toBe(true);
    expect(world.agent.breaks).toEqual([]);
  },
);

it.each([429, 500, 529])(
  'a status of %i to a request with a block reaches the client, and the block stays',
  async (status) => {
    const world = await openWorld();
    await world.toSummary();
    let once = true;
    world.intercept.answer = (request, res) => {
      if (!request.body.includes('"type":"compaction"') || asksForSummary(request) || !once) return false;
      once = false;
      json(res, status, { type: 'error', error: { type: 'overloaded_error', message: 'compaction_unavailable' } });
      return true;
    };
    world.messages.push({ role: 'user', content: 'Show the query.' });
    expect((await world.send()).status).toBe(status);
    world.messages.pop();
    await world.turn('Show the query.');
    expect(world.isSwapped).toBe(true);
    await world.turn('And the index?');
    expect(world.agent.breaks).toEqual([]);
  },
);

it('a second summary begins with the first block, once that has paid back', async () => {
  const world = await openWorld();
  await world.toSummary();
  for (let i = 0; i < 9; i++) await world.turn(`Go on, part ${i}.`);
  expect(world.asked).toHaveLength(1);
  await world.turn('And the index?');
  await world.turn('Which one is slower?');
  await world.result('made', 2);
  const asked = jsonOf(world.asked[1] as SeenRequest).messages as Json[];
  expect(JSON.stringify(asked[0])).toContain('"type":"compaction"');
  await world.turn('Thanks. Now the tests.');
  expect(world.forwarded.length).toBeLessThan(10);
  await world.turn('Run them.');
  expect(world.agent.breaks).toEqual([]);
});

/** Goes on until a second summary is ready, and sends one request with it. */
async function toSecondSummary(world: SeamWorld): Promise<void> {
  await world.toSummary();
  for (let i = 0; i < 9; i++) await world.turn(`Go on, part ${i}.`);
  await world.turn('And the index?');
  await world.turn('Which one is slower?');
  await world.result('made', 2);
}

it('another model gets the lines of both summaries, and no thinking made with either', async () => {
  const world = await openWorld();
  await toSecondSummary(world);
  await world.turn('Thanks. Now the tests.');
  await world.turn('Run them.');
  world.model = 'claude-sonnet-5';
  await world.turn('Which one fails?');
  const whole = JSON.stringify(jsonOf(world.turns.at(-1) as SeenRequest).messages);
  expect(whole.match(/were replaced by the summary at its beginning/g)).toHaveLength(2);
  expect([world.isSwapped, world.agent.breaks]).toEqual([false, []]);
  world.model = 'claude-opus-5';
  await world.turn('And now?');
  expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
});

/** Thinking blocks of messages. */
function thinkingIn(messages: readonly Json[]): Json[] {
  return messages.flatMap(({ content }) =>
    Array.isArray(content) ? (content as Json[]).filter(({ type }) => type === 'thinking') : [],
  );
}

it('another model loses only what the model of the block thought with it, never what it thinks itself', async () => {
  const world = await openWorld();
  await world.toSummary();
  const withBlock: Json[] = [];
  /** Works on a task, and checks each request of it. */
  const task = async (words: string, model: string, isSwapped: boolean) => {
    world.model = model;
    const from = world.messages.length;
    const sent = world.turns.length;
    await world.task(words, 2);
    if (isSwapped) withBlock.push(...thinkingIn(world.messages.slice(from)));
    for (const [i, request] of world.turns.slice(sent).entries()) {
      const forwarded = jsonOf(request).messages as Json[];
      const came = thinkingIn(world.messages.slice(0, from + 2 * i + 1));
      expect(world.isSwapped).toBe(isSwapped);
      if (!isSwapped) expect(thinkingIn(forwarded)).toEqual(came.filter((one) => !withBlock.includes(one)));
      else expect(thinkingIn(forwarded)).toEqual(came.slice(-thinkingIn(forwarded).length));
    }
    expect(world.agent.breaks).toEqual([]);
  };
  await task('Show the query.', 'claude-opus-5', true);
  await task('Which one is slower?', 'claude-sonnet-5', false);
  await task('And the index?', 'claude-sonnet-5', false);
  await world.proxy.restart();
  await task('Now the view.', 'claude-sonnet-5', false);
  await task('Back to the query.', 'claude-opus-5', true);
  await world.proxy.restart();
  await task('And now?', 'claude-sonnet-5', false);
  expect(withBlock).toHaveLength(6);
});

it('a second summary that is refused leaves the first one in place', async () => {
  const world = await openWorld();
  await toSecondSummary(world);
  const second = world.turns.length;
  let refused = 0;
  world.intercept.answer = (request, res) => {
    if (!request.body.includes('"type":"compaction"') || refused > 0) return false;
    refused++;
    json(res, 400, { type: 'error', error: { type: 'invalid_request_error', message: 'no such summary' } });
    return true;
  };
  await world.turn('Thanks. Now the tests.');
  expect([refused, world.isSwapped, world.agent.breaks]).toEqual([1, true, []]);
  await world.turn('Run them.');
  expect([refused, world.isSwapped, world.agent.breaks]).toEqual([1, true, []]);
  expect(world.turns.length - second).toBe(3);
});

it('a store that takes no writes keeps the first summary in place, and a second one that came meanwhile is given up', async () => {
  const world = await openWorld();
  await toSecondSummary(world);
  const store = new (sqliteDriver())(world.proxy.dbPath);
  store.exec(`CREATE TRIGGER full BEFORE UPDATE ON seam_compaction BEGIN SELECT RAISE(ABORT, 'disk full'); END`);
  await world.turn('Thanks. Now the tests.');
  await world.turn('Run them.');
  await world.turn('Again.');
  expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
  store.exec('DROP TRIGGER full');
  await world.turn('And once more.');
  expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
  const states = "SELECT state FROM seam_compaction WHERE project = 'default' ORDER BY id";
  expect(store.prepare(states).pluck().all()).toEqual(['kept', 'late']);
  store.close();
});

it('the line about what is gone stands behind the results of the first request with a block', async () => {
  const world = await openWorld();
  await world.task('Fix the checkout of the shop, please.', 8);
  await world.turn('Now the invoices: why is the total wrong?', { calls: 1 });
  await world.result('made');
  const last = world.messages.at(-1)?.content as Json[];
  const { id } = last.find(({ type }) => type === 'tool_use') as { id: string };
  await world.turn([{ type: 'tool_result', tool_use_id: id, content: 'The total is rounded.' }]);
  expect(world.isSwapped).toBe(true);
  expect(world.forwarded.at(-1)?.content).toEqual([
    expect.objectContaining({ type: 'tool_result' }),
    { type: 'text', text: expect.stringContaining('the tool recall searches it') },
  ]);
  const sent = JSON.stringify(world.forwarded.at(-1));
  for (let i = 0; i < 2; i++) await world.turn(`Go on, part ${i}.`);
  expect(JSON.stringify(world.forwarded)).toContain(sent);
  expect(JSON.stringify(world.forwarded).match(/the tool recall searches it/g)).toHaveLength(1);
  expect(world.agent.breaks).toEqual([]);
});

it('the report says what summaries cost and saved, and nothing without any', async () => {
  const world = await openWorld();
  const given = { env: { MCP_PRUNER_DB_PATH: world.proxy.dbPath, MCP_PRUNER_SEAMS: 'on' }, clock: world.clock };
  const report = async (): Promise<SeamsReport['seams']> => {
    await world.proxy.stop();
    const { out } = await run(['report', '--json'], given);
    await world.proxy.start();
    return (JSON.parse(out) as SeamsReport).seams;
  };
  const none = { made: 0, failed: 0, refused: 0, tokens_replaced: 0, usd_spent: 0, usd_saved: 0, paid_back: 0 };
  expect(await report()).toMatchObject({ setting: 'on', threshold_tokens: 120_000, compactions: none });
  await world.toSummary();
  const first = (await report()).compactions;
  // 12 tokens uncached, 190,000 from the cache, 900 written
  const spent = (12 * 5 + 190_000 * 0.5 + 900 * 25) / 1e6;
  expect(first).toMatchObject({ made: 1, tokens_replaced: 0, paid_back: 0 });
  expect([first.usd_spent, first.usd_saved]).toEqual([expect.closeTo(spent, 6), expect.closeTo(-spent, 6)]);
  for (let i = 0; i < 4; i++) await world.turn(`Go on, part ${i}.`);
  const then = (await report()).compactions;
  expect(then).toMatchObject({ made: 1, failed: 0, refused: 0, paid_back: 1 });
  expect(then.usd_saved).toBeCloseTo((then.tokens_replaced * 0.5 * 4) / 1e6 - spent, 6);
  expect(then.tokens_replaced).toBeGreaterThan(150_000);
  await world.proxy.stop();
  const text = (await run(['report'], given)).out;
  expect(text).toContain('; 1 paid back, after 2 requests');
  const store = new (sqliteDriver())(world.proxy.dbPath, { readonly: true });
  const sums = store
    .prepare("SELECT key, field, value FROM ledger_sum WHERE slice = 'compaction' ORDER BY field")
    .all();
  store.close();
  expect(sums).toContainEqual({ key: 'claude-opus-5', field: 'compactions', value: 1 });
  expect(sums).toContainEqual({ key: 'claude-opus-5', field: 'dollars', value: expect.closeTo(spent, 6) });
});

it('what is read again within 20 requests is not saved, and a summary that never paid back is named', async () => {
  const world = await openWorld();
  world.command = 'cat src/cart.ts';
  await world.toSummary();
  const given = { env: { MCP_PRUNER_DB_PATH: world.proxy.dbPath, MCP_PRUNER_SEAMS: 'on' }, clock: world.clock };
  const report = async (): Promise<SeamsReport['seams']> => {
    await world.proxy.stop();
    const { out } = await run(['report', '--json'], given);
    await world.proxy.start();
    return (JSON.parse(out) as SeamsReport).seams;
  };
  const read = async (command: string, chars: number): Promise<void> => {
    world.command = command;
    await world.turn('Look at it.', { calls: 1 });
    const last = world.messages.at(-1)?.content as Json[];
    const { id } = last.find(({ type }) => type === 'tool_use') as { id: string };
    await world.turn([{ type: 'tool_result', tool_use_id: id, content: 'x'.repeat(chars) }]);
  };
  await read('cat src/other.ts', 80_000);
  const before = await report();
  const { usd_spent, usd_saved, tokens_replaced } = before.compactions;
  expect(usd_saved).toBeCloseTo((tokens_replaced * 0.5 * 2) / 1e6 - usd_spent, 6);
  expect(before.payback).toEqual({ after_requests: 2, never: 0, by_client: 0 });
  await read('cat -n /work/shop/src/cart.ts', 40_000);
  const then = (await report()).compactions;
  const again = 10_000 + 1; // a quarter of the characters, and the quotes
  const saved = ((tokens_replaced - again) * 0.5 * 4 - again * 6.25) / 1e6 - usd_spent;
  expect(then.usd_saved).toBeCloseTo(saved, 4);
  await read('cat -n /work/shop/src/cart.ts', 700_000);
  world.clock.now += 2 * 3_600_000;
  const last = await report();
  expect(last.compactions.usd_saved).toBeLessThan(0);
  expect([last.compactions.paid_back, last.payback.never]).toEqual([0, 1]);
  await world.proxy.stop();
  expect((await run(['report'], given)).out).toContain('; 1 never paid back');
});

it('what was cut and replaced is recovered by its id, and found by recall', async () => {
  const world = await openWorld();
  await world.toSummary();
  const sent = JSON.stringify(jsonOf(world.asked[0] as SeenRequest).messages);
  const [, id = ''] = /prune_id=(prn_\w+)/.exec(sent) ?? [];
  await world.turn('Show the query.');
  expect(world.isSwapped).toBe(true);
  expect(JSON.stringify(world.forwarded)).not.toContain(id);
  expect(await world.proxy.recover(id, 1, 5)).not.toBe('');
  const found = await world.proxy.call('recall', { query: 'refund customer' });
  expect(found.result?.content[0]?.text ?? '').toContain('customer');
});

it('results that are replaced are found by recall, however short', async () => {
  const world = await openWorld();
  await world.turn('Which branch is it?', { calls: 1 });
  const answer = world.messages.at(-1)?.content as Json[];
  const { id } = answer.find(({ type }) => type === 'tool_use') as { id: string };
  await world.turn([{ type: 'tool_result', tool_use_id: id, content: 'On branch hotfix-4711' }]);
  const recalled = async (): Promise<string> => {
    const found = await world.proxy.call('recall', { query: 'hotfix-4711' });
    return found.result?.content[0]?.text ?? '';
  };
  expect(await recalled()).not.toContain('On branch'); // too short, until it is gone
  await world.toSummary();
  expect(await recalled()).toContain('On branch hotfix-4711');
  await world.turn('Show the query.');
  expect([world.isSwapped, JSON.stringify(world.forwarded).includes('hotfix'), world.agent.breaks]).toEqual([
    true,
    false,
    [],
  ]);
  const { prune_id } = (JSON.parse(await recalled()) as { hits: [{ prune_id: string }] }).hits[0];
  expect(await world.proxy.recover(prune_id, 1, 1)).toContain('On branch hotfix-4711');
});

it('a run that ends between the answer and the record loses the block, and nothing else', async () => {
  const world = await openWorld();
  let release = (): void => {};
  world.intercept.answer = async (request) => {
    if (!asksForSummary(request)) return false;
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    return false;
  };
  await world.task('Fix the checkout of the shop, please.', 8);
  await world.turn('Now the invoices: why is the total wrong?');
  await until(() => world.asked.length === 1);
  await world.proxy.restart();
  release();
  world.intercept.answer = () => false;
  for (let i = 0; i < 4; i++) await world.turn(`Go on, part ${i}.`);
  expect([world.isSwapped, world.asked.length]).toEqual([false, 1]);
  const health = (await (await fetch(`${world.proxy.url}/health`)).json()) as { seams: unknown };
  expect(health.seams).toEqual({ setting: 'on', off_models: [] });
  for (let i = 0; i < 20; i++) await world.turn(`And the index ${i}?`);
  await world.result('made');
  await world.turn('Run them.');
  expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
});

it('a request that a client sends twice at once gets the same block and the same line', async () => {
  const world = await openWorld();
  await world.toSummary();
  world.messages.push({ role: 'user', content: 'Show the query.' });
  await Promise.all([world.send(), world.send()]);
  const [one, other] = world.turns.slice(-2).map(({ body }) => body.toString('utf8'));
  expect(one).toContain('the tool recall searches it');
  expect(other).toBe(one);
  world.messages.push(...world.agent.answer);
  for (let i = 0; i < 3; i++) await world.turn(`Go on, part ${i}.`);
  expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
});

it('a block that a second copy of the first request finds refused stays, with its line, if the first was accepted', async () => {
  const world = await openWorld();
  await world.toSummary();
  const store = new (sqliteDriver())(world.proxy.dbPath, { readonly: true });
  const isKept = (): boolean => store.prepare("SELECT 1 FROM seam_compaction WHERE state = 'kept'").get() !== undefined;
  let copies = 0;
  world.intercept.answer = async (request, res) => {
    if (!request.body.includes('"type":"compaction"') || ++copies !== 2) return false;
    await until(isKept);
    json(res, 400, { type: 'error', error: { type: 'invalid_request_error', message: 'too busy to read it' } });
    return true;
  };
  world.messages.push({ role: 'user', content: 'Show the query.' });
  const answers = await Promise.all([world.send(), world.send()]);
  store.close();
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(world.isSwapped).toBe(false);
  expect(JSON.stringify(world.forwarded.at(-1))).toContain('the tool recall searches it');
  world.messages.push(...world.agent.answer);
  for (let i = 0; i < 3; i++) await world.turn(`Go on, part ${i}.`);
  expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
});

it('a message that was sent before the block was there never gets its line', async () => {
  const world = await openWorld();
  const release = world.holdSummaries();
  await world.task('Fix the checkout of the shop, please.', 8);
  await world.turn('Now the invoices: why is the total wrong?');
  await until(() => world.asked.length === 1);
  world.messages.push({ role: 'user', content: 'Show the query.' });
  await world.send(); // the client does not wait for this answer
  expect(world.isSwapped).toBe(false);
  release();
  await world.result('made');
  await world.send();
  expect(world.isSwapped).toBe(true);
  expect(JSON.stringify(world.forwarded)).not.toContain('the tool recall searches it');
  world.messages.push(...world.agent.answer);
  await world.turn('Go on.');
  expect(JSON.stringify(world.forwarded.at(-1))).toContain('the tool recall searches it');
  await world.turn('And the index?');
  expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
});

it('a thread that the provider keeps begins without the block, because what continues it could not name it', async () => {
  const world = await openWorld();
  await world.toSummary();
  await world.turn('Show the query.');
  expect(world.isSwapped).toBe(true);
  world.more = { thread: { type: 'create' } };
  await world.turn('Go on.');
  expect(world.isSwapped).toBe(false);
  expect(JSON.stringify(world.forwarded.slice(20))).not.toContain('"type":"thinking"');
  world.more = {};
  await world.turn('And the index?');
  expect([world.isSwapped, world.agent.breaks.filter(({ effect }) => effect === 'refused')]).toEqual([true, []]);
});

it('a disk that is full when the block arrives loses the block, and nothing else', async () => {
  const world = await openWorld();
  await world.task('Fix the checkout of the shop, please.', 8);
  const store = new (sqliteDriver())(world.proxy.dbPath);
  store.exec(`CREATE TRIGGER full BEFORE UPDATE ON seam_compaction BEGIN SELECT RAISE(ABORT, 'disk full'); END`);
  await world.turn('Now the invoices: why is the total wrong?');
  await until(async () => (await world.proxy.logText()).includes('compaction_not_made'));
  await world.turn('Show the query.');
  await world.turn('And the index?');
  expect([world.isSwapped, world.agent.breaks]).toEqual([false, []]);
  store.exec('DROP TRIGGER full');
  store.close();
  world.clock.now += LOST_MS;
  await world.task('Now the tests, all of them.', 20);
  await world.turn('Thanks. Now the release.');
  await world.result('made');
  await world.turn('Tag it.');
  expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
});

it.each(['first', 'second'])(
  'a provider that refuses each second request never breaks a conversation: %s',
  async (at) => {
    const world = await openWorld();
    await world.toSummary();
    let [requests, refused] = [at === 'first' ? 1 : 0, 0];
    world.intercept.answer = (request, res) => {
      if (asksForSummary(request) || ++requests % 2 === 1) return false;
      refused++;
      json(res, 400, { type: 'error', error: { type: 'invalid_request_error', message: 'not this time' } });
      return true;
    };
    const answered: number[] = [];
    for (let i = 0; i < 8; i++) {
      world.messages.push({ role: 'user', content: `Go on, part ${i}.` });
      const { status } = await world.send();
      answered.push(status);
      if (status === 200) world.messages.push(...world.agent.answer);
      else world.messages.pop();
    }
    expect(refused).toBeGreaterThan(2);
    expect(answered.filter((status) => status === 200).length).toBeGreaterThan(3);
    expect(world.agent.breaks.filter(({ effect }) => effect === 'refused')).toEqual([]);
  },
);
