import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { until } from '../../../test/helpers/until.ts';
import { asksForSummary, openWorld, type SeamWorld } from './provider.ts';

/** Work that is as heavy after four results as that of other tests after eight. */
function shortTask(world: SeamWorld): Promise<void> {
  world.agent.tokensOf = (messages) => 10_000 + 18_000 * messages;
  return world.task('Fix the checkout of the shop, please.', 4);
}

/** Works until a summary would be made, and a little longer. @returns whether one was asked for */
async function asks(world: SeamWorld, headers: Record<string, string> = {}): Promise<boolean> {
  await shortTask(world);
  await world.turn('Now the invoices: why is the total wrong?', { headers });
  await world.turn('Show the query.', { headers });
  await world.proxy.stop();
  return world.asked.length > 0;
}

it.each([
  ['by default', { MCP_PRUNER_SEAMS: 'measure' }, {}],
  ['when seams are off', { MCP_PRUNER_SEAMS: 'off' }, {}],
  ['when seams are off, whatever the header says', { MCP_PRUNER_SEAMS: 'off' }, { 'x-mcp-pruner-seams': 'on' }],
  ['when the header says off', {}, { 'x-mcp-pruner-seams': 'off' }],
  ['while the proxy is switched off', { MCP_PRUNER_ENABLED: 'false' }, {}],
  ['in shadow mode', { MCP_PRUNER_MODE: 'shadow' }, {}],
  ['in the control group', { MCP_PRUNER_HOLDOUT: '1' }, {}],
  ['for requests that switch the proxy off', {}, { 'x-mcp-pruner': 'off' }],
  ['on a host that is not listed', { MCP_PRUNER_SEAMS_HOSTS: 'gateway.example' }, {}],
  ['while what was read cannot be searched', { MCP_PRUNER_RECALL: 'off' }, {}],
  ['below the least weight', { MCP_PRUNER_SEAM_TOKENS: '300000' }, {}],
  ['for logins', {}, { 'x-api-key': '', authorization: 'Bearer sk-ant-oat01-login' }],
] as const)('no summary is made %s', async (_when, env, headers) => {
  expect(await asks(await openWorld({ env, headers }))).toBe(false);
});

it.each([
  ['when the header says on', { MCP_PRUNER_SEAMS: 'measure' }, { 'x-mcp-pruner-seams': 'on' }],
  ['with a header of an unknown value', {}, { 'x-mcp-pruner-seams': 'maybe' }],
  ['wherever it pays', { MCP_PRUNER_SEAM_TOKENS: 'auto' }, {}],
  [
    'for logins if the settings say so',
    { MCP_PRUNER_SEAMS_LOGINS: 'true' },
    { 'x-api-key': '', authorization: 'Bearer sk-ant-oat01-login' },
  ],
] as const)('a summary is made %s', async (_when, env, headers) => {
  const world = await openWorld({ env, headers });
  expect(await asks(world)).toBe(true);
  const warned = (await world.proxy.logLines())
    .filter(({ level }) => level === 'warn' || level === 40)
    .map(({ msg }) => String(msg));
  const expected = 'authorization' in headers ? 1 : 0;
  expect(warned.filter((msg) => msg.includes('login'))).toHaveLength(expected);
  expect(warned.filter((msg) => msg.includes('x-mcp-pruner-seams'))).toHaveLength(_when.includes('unknown') ? 1 : 0);
});

it.each([['claude-haiku-4-5'], ['claude-sonnet-4-5']])(
  'no summary is made for %s, which does not offer it',
  async (model) => {
    const world = await openWorld();
    world.model = model;
    expect(await asks(world)).toBe(false);
  },
);

it('no summary is made without prices', async () => {
  const prices = join(tempFolder(), 'prices.toml');
  writeFileSync(prices, 'replace = true\n');
  expect(await asks(await openWorld({ env: { MCP_PRUNER_PRICES: prices } }))).toBe(false);
});

it('no summary is made for a project without five ended conversations', async () => {
  const world = await openWorld({ headers: { 'x-mcp-pruner-project': 'new' } });
  expect(await asks(world)).toBe(false);
  const reasons = (await world.proxy.logLines()).flatMap(({ reason }) => reason ?? []);
  expect(reasons).toContain('does_not_pay');
});

it.each([
  ['the client edits the context', { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }],
  [
    'the client has thinking cleared',
    {
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: { type: 'thinking_turns', value: 1 } }] },
    },
  ],
  ['the provider keeps the history', { thread: null }],
  [
    'the client counts what is left for the task',
    { output_config: { task_budget: { type: 'tokens', total: 90_000, remaining: 70_000 } } },
  ],
])('no summary is made while %s', async (_when, more) => {
  const world = await openWorld();
  world.more = more;
  await shortTask(world);
  await world.turn('Now the invoices: why is the total wrong?');
  await world.turn('Show the query.');
  await world.proxy.stop();
  expect(world.upstream.requests.filter((request) => request.body.includes('"summarize"'))).toEqual([]);
});

it('a client that only asks to keep all thinking gets a summary, without that field in its request', async () => {
  const world = await openWorld();
  world.more = { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } };
  await world.toSummary();
  expect(JSON.parse((world.asked[0]?.body ?? '{}').toString())).not.toHaveProperty('context_management');
  await world.turn('Show the query.');
  expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
});

it('a summary request leaves out what it must not have', async () => {
  const world = await openWorld();
  world.more = {
    tool_choice: { type: 'auto' },
    stop_sequences: ['STOP'],
    output_config: { effort: 'high', format: { type: 'json_schema', schema: {} } },
  };
  await world.toSummary();
  expect(JSON.parse((world.asked[0]?.body ?? '{}').toString())).toMatchObject({ output_config: { effort: 'high' } });
  await world.turn('Show the query.');
  expect(world.isSwapped).toBe(true);
  expect(world.agent.breaks).toEqual([]);
});

it('conversations with messages of the system get no summary', async () => {
  const world = await openWorld();
  world.messages = [{ role: 'system', content: 'The tools are deferred.' }];
  expect(await asks(world)).toBe(false);
});

/** Works until a summary would be made, and gets a status for the request that begins the next task. */
async function overloadedAtSeam(status: number, headers: Record<string, string> = {}): Promise<SeamWorld> {
  const world = await openWorld();
  await shortTask(world);
  let once = true;
  world.intercept.answer = (request, res) => {
    if (!once || asksForSummary(request)) return false;
    once = false;
    json(res, status, { type: 'error', error: { type: 'overloaded_error', message: '' } }, headers);
    return true;
  };
  world.messages.push({ role: 'user', content: 'Now the invoices: why is the total wrong?' });
  expect((await world.send()).status).toBe(status);
  world.messages.pop();
  return world;
}

it.each([429, 529])('after a status of %i, no summary is asked for until the time it names', async (status) => {
  const world = await overloadedAtSeam(status, { 'retry-after': '30' });
  await world.turn('Now the invoices: why is the total wrong?');
  await world.turn('Show the query.');
  expect(world.asked).toEqual([]);
  await world.turn('And the index?'); // 30 seconds later
  await world.turn('Which one is slower?');
  await world.result('made');
});

it.each([429, 529])('after a status of %i without a time, the next success of the key ends it', async (status) => {
  const world = await overloadedAtSeam(status);
  expect(world.asked).toEqual([]);
  await world.turn('Now the invoices: why is the total wrong?');
  await world.result('made');
});

it('a project has its own setting', async () => {
  const world = await openWorld({ env: { MCP_PRUNER_SEAMS: 'measure' } });
  const given = { env: { MCP_PRUNER_DB_PATH: world.proxy.dbPath }, clock: world.clock };
  await world.proxy.stop();
  expect(await run(['projects', 'set', 'default', '--seams', 'on'], given)).toMatchObject({ code: 0 });
  const bad = await run(['projects', 'set', 'default', '--seams', 'sometimes'], given);
  expect([bad.code, bad.err]).toEqual([2, expect.stringContaining('allowed is on, measure or off')]);
  await world.proxy.start();
  await world.toSummary();
});

it('a summary that the budget of the project has no room for is not asked for', async () => {
  const world = await openWorld();
  await world.proxy.stop();
  const given = { env: { MCP_PRUNER_DB_PATH: world.proxy.dbPath }, clock: world.clock };
  const spent = (900_000 * 0.5 * 54) / 1e6; // by the conversations that ended
  expect(await run(['projects', 'set', 'default', '--dollars-per-month', String(spent + 1.6)], given)).toMatchObject({
    code: 0,
  });
  await world.proxy.start();
  expect(await asks(world)).toBe(false);
  const reasons = (await world.proxy.logLines()).flatMap(({ reason }) => reason ?? []);
  expect(reasons).toContain('budget');
});

const GOOD = { type: 'compaction', content: 'What was done.', signature: 'sig' };
const message = (more: object) => ({
  id: 'msg_9',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-5',
  content: [GOOD],
  stop_reason: 'compaction',
  usage: { input_tokens: 0, output_tokens: 0 },
  ...more,
});
const events = (...all: object[]): string => all.map((data) => `data: ${JSON.stringify(data)}\n\n`).join('');

it.each([
  ['has no content', 200, message({ content: [{ ...GOOD, content: '' }] })],
  ['has null as content', 200, message({ content: [{ ...GOOD, content: null }] })],
  ['is not signed', 200, message({ content: [{ type: 'compaction', content: 'x' }] })],
  ['comes twice', 200, message({ content: [GOOD, GOOD] })],
  ['has 5 MB', 200, message({ content: [{ ...GOOD, content: 'x'.repeat(5_000_000) }] })],
  ['is of another model', 200, message({ model: 'claude-haiku-4-5' })],
  ['came with another stop reason', 200, message({ stop_reason: 'max_tokens' })],
  ['is a refusal', 200, message({ content: [], stop_reason: 'refusal' })],
  [
    'calls a tool',
    200,
    message({ content: [{ type: 'tool_use', id: 't', name: 'Bash', input: {} }], stop_reason: 'tool_use' }),
  ],
  [
    'stands in an error',
    400,
    { type: 'error', error: { type: 'invalid_request_error', message: JSON.stringify(GOOD) } },
  ],
  ['is no JSON', 200, 'compaction'],
  [
    'is cut off',
    200,
    events(
      { type: 'message_start', message: message({ content: [] }) },
      { type: 'content_block_start', index: 0, content_block: GOOD },
    ),
  ],
  [
    'ends in an error',
    200,
    events(
      { type: 'message_start', message: message({ content: [] }) },
      { type: 'content_block_start', index: 0, content_block: GOOD },
      { type: 'error', error: { type: 'overloaded_error' } },
    ),
  ],
] as const)('a summary that %s is not used', async (_what, status, answer) => {
  const world = await openWorld();
  world.intercept.answer = (request, res) => {
    if (!asksForSummary(request)) return false;
    const type = typeof answer === 'string' && answer.startsWith('data') ? 'text/event-stream' : 'application/json';
    res.writeHead(status, { 'content-type': type });
    res.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
    return true;
  };
  await shortTask(world);
  await world.turn('Now the invoices: why is the total wrong?');
  await world.result('failed');
  await world.turn('Show the query.');
  expect([world.isSwapped, world.asked.length, world.agent.breaks]).toEqual([false, 1, []]);
});

it('after a summary that cannot be used, none is asked for within 20 requests', async () => {
  const world = await openWorld();
  world.intercept.answer = (request, res) => {
    if (!asksForSummary(request)) return false;
    json(res, 200, message({ content: [], stop_reason: 'refusal' }));
    return true;
  };
  await shortTask(world);
  await world.turn('Now the invoices: why is the total wrong?');
  await world.result('failed');
  for (let i = 0; i < 18; i++) await world.turn(`Go on, part ${i}.`);
  expect([world.isSwapped, world.asked.length]).toEqual([false, 1]);
  world.intercept.answer = () => false;
  for (let i = 0; i < 4; i++) await world.turn(`And the index ${i}?`);
  await world.result('made');
  expect(world.agent.breaks).toEqual([]);
});

it('a model that failed three times is not asked for a day, and health says so', async () => {
  const world = await openWorld();
  world.intercept.answer = (request, res) => {
    if (!asksForSummary(request)) return false;
    json(res, 500, {});
    return true;
  };
  const health = async () => ((await (await fetch(`${world.proxy.url}/health`)).json()) as { seams: unknown }).seams;
  for (let i = 1; i <= 3; i++) {
    expect(await health()).toEqual({ setting: 'on', off_models: [] });
    world.session = `session-${i}`;
    world.messages = [];
    world.agent.rewrite();
    await world.task(`Fix the checkout ${i} of the shop, please.`, 8);
    await world.turn('Now the invoices: why is the total wrong?');
    await world.result('failed', i);
  }
  await until(async () => JSON.stringify(await health()).includes('claude-opus-5'));
  await world.proxy.stop();
  const given = { env: { MCP_PRUNER_DB_PATH: world.proxy.dbPath }, clock: world.clock };
  const doctor = (await run(['doctor', '--json'], given)).out;
  expect(doctor).toContain('claude-opus-5 failed three times to summarise finished work (last: status_500)');
  expect((await run(['why', '--latest'], given)).out).toContain('of finished work: not made (status 500)');
  await world.proxy.start();
  expect(await health()).toEqual({ setting: 'on', off_models: ['claude-opus-5'] });
  const next = async (i: number): Promise<void> => {
    world.session = `session-${i}`;
    world.messages = [];
    world.agent.rewrite();
    await world.task(`Fix the checkout ${i} of the shop, please.`, 8);
    await world.turn('Now the invoices: why is the total wrong?');
  };
  await next(4);
  expect(world.asked).toHaveLength(3);
  world.intercept.answer = () => false;
  world.clock.now += 25 * 3_600_000;
  expect(await health()).toEqual({ setting: 'on', off_models: [] });
  await next(5);
  await world.result('made');
});

it('a request for a summary ends after five minutes, and the conversation goes on whole', async () => {
  const world = await openWorld();
  await shortTask(world);
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const limits = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout(ms === 300_000 ? 50 : ms));
  let isEnded = false;
  world.intercept.answer = (request, res) => {
    if (!asksForSummary(request)) return false;
    res.on('close', () => {
      isEnded = true;
    });
    return true; // and never answers
  };
  await world.turn('Now the invoices: why is the total wrong?');
  await world.result('failed');
  await until(() => isEnded);
  expect(limits).toHaveBeenCalledWith(300_000);
  limits.mockRestore();
  await world.turn('Show the query.');
  expect([world.isSwapped, world.agent.breaks]).toEqual([false, []]);
  await world.proxy.stop();
  const given = { env: { MCP_PRUNER_DB_PATH: world.proxy.dbPath }, clock: world.clock };
  expect((await run(['why', '--latest'], given)).out).toContain('not made (timeout)');
});
