import { expect, it } from 'vitest';
import { run } from '../cli/fake-io.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { until } from '../helpers/until.ts';

const DAY_MS = 86_400_000;
const LONG = `Finds fish. ${'It looks into every lake and every river of the country. '.repeat(30)}`;
const toolOf = (name: string): object => ({ type: 'function', function: { name, description: LONG, parameters: {} } });
const TOOLS = [toolOf('used'), toolOf('unused'), toolOf('left_whole'), toolOf('recover_text')];

it('the tools and report commands show the cost of descriptions of unused tools', async () => {
  let nowMs = Date.parse('2026-05-01T12:00:00Z');
  const upstream = await startUpstream((_request, res, index) => {
    const call = { id: 'c1', type: 'function', function: { name: 'used', arguments: '{}' } };
    const message = { role: 'assistant', content: 'Done.', ...(index === 0 && { tool_calls: [call] }) };
    const usage = { prompt_tokens: 5_000, completion_tokens: 5, total_tokens: 5_005 };
    json(res, 200, { id: 'x', object: 'chat.completion', model: 'gpt-5', choices: [{ index: 0, message }], usage });
  });
  const clock = { nowMs: () => nowMs };
  const env = { MCP_PRUNER_TOOL_SHELF_NEVER: 'left_*' };
  const proxy = await startProxy(upstream, { clock, env });
  const asks = async (words: string, ...more: readonly object[]): Promise<void> => {
    const body = { model: 'gpt-5', tools: TOOLS, messages: [{ role: 'user', content: words }, ...more] };
    const answer = await proxy.chat(JSON.stringify(body), { 'user-agent': `agent/1.${words} (linux)` });
    expect(answer.status).toBe(200);
    await answer.text();
  };
  for (const words of ['1', '2', '3', '4']) await asks(words);
  nowMs += DAY_MS;
  for (const words of ['5', '6']) await asks(words);
  await asks('6', { role: 'assistant', content: 'Done.' }, { role: 'user', content: 'Thanks.' });
  await proxy.stop();
  for (const { body } of upstream.requests) expect(JSON.parse(body.toString()).tools).toEqual(TOOLS);

  const given = { env: { ...env, MCP_PRUNER_DB_PATH: proxy.dbPath }, clock };
  const listed = JSON.parse((await run(['report', '--tools', '--json'], given)).out) as { name: string }[];
  const UNUSED = { tokens: expect.any(Number), conversations: 6, calls: 0, last_call: null };
  const rowOf = (name: string) => listed.find((row) => row.name === name);
  expect(rowOf('unused')).toEqual({
    ...{ name: 'unused', state: 'whole', ...UNUSED },
    usd_per_month: expect.any(Number),
    declarations: [{ project: expect.any(String), client: 'agent', ...UNUSED, usd_per_month: expect.any(Number) }],
  });
  expect(rowOf('used')).toMatchObject({ calls: 1, last_call: '2026-05-01T12:00:00.000Z' });
  expect([rowOf('left_whole'), rowOf('recover_text')]).toMatchObject([{ state: 'never' }, { state: 'never' }]);
  expect(JSON.parse((await run(['report', '--tools', '--json', '--project', 'none'], given)).out)).toEqual([]);
  // a row for each tool, whichever clients declare it; by client for one project
  const rows = async (...args: string[]) => (await run(['report', '--tools', ...args], given)).out.match(/^unused /gm);
  expect(await rows()).toHaveLength(1);

  const { tool_shelf } = JSON.parse((await run(['report', '--json'], given)).out);
  expect(tool_shelf).toMatchObject({ setting: 'measure', saved: { tokens: 0, usd: 0 }, shelf_called: 0 });
  const { tokens, usd } = tool_shelf.would_save;
  expect(tokens).toBeGreaterThan(2 * 200); // the sixth conversation has two requests
  expect(usd / tokens).toBeCloseTo(1.25e-6);

  // a project has its own say about conversations that begin
  const again = await startProxy(upstream, { clock, env: given.env });
  const sent = async (words: string, more: readonly object[] = [], project = 'default'): Promise<string> => {
    const body = { model: 'gpt-5', tools: TOOLS, messages: [{ role: 'user', content: words }, ...more] };
    const headers = { 'user-agent': 'agent/1', authorization: 'Bearer sk-1', 'x-mcp-pruner-project': project };
    await (await again.chat(JSON.stringify(body), headers)).text();
    return JSON.stringify(JSON.parse(upstream.requests.at(-1)?.body.toString() ?? '').tools);
  };
  let words = 6;
  const whole = JSON.stringify(TOOLS);
  expect(await sent(String(++words))).toBe(whole);
  expect((await run(['projects', 'set', 'default', '--shelf', 'on'], given)).code).toBe(0);
  const short = await until(async () => {
    const tools = await sent(String(++words));
    return tools !== whole && tools;
  });
  expect(await sent('of another project', [], 'web')).toBe(whole);
  expect((await run(['projects', 'set', 'default', '--shelf', 'off'], given)).code).toBe(0);
  const goesOn = [
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'Go on.' },
  ];
  const known = String(words);
  await until(async () => (await sent(String(++words))) === whole);
  expect(await sent(known, goesOn)).toBe(short);
  await again.stop();
});

it('no tools are recorded if the shelf is off', async () => {
  const upstream = await startUpstream();
  const proxy = await startProxy(upstream, { env: { MCP_PRUNER_TOOL_SHELF: 'off' } });
  const body = JSON.stringify({ model: 'm', tools: TOOLS, messages: [{ role: 'user', content: 'hi' }] });
  await (await proxy.chat(body)).text();
  await proxy.stop();
  expect(
    JSON.parse((await run(['report', '--tools', '--json'], { env: { MCP_PRUNER_DB_PATH: proxy.dbPath } })).out),
  ).toEqual([]);
});
