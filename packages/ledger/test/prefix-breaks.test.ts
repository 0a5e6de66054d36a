import { checkPrefixes } from '@mcp-pruner/agents/doctor/doctor.ts';
import type { PrefixBreakReport } from 'mcp-pruner/core/ports/prefix-breaks.ts';
import { openSqliteStore } from 'mcp-pruner/store/sqlite.ts';
import { expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { readPrefixBreaks } from '../src/prefix-breaks.ts';

const USAGE = { input_tokens: 10, output_tokens: 5 };

it('provider reports about changed history are counted once per request, by model and conversation', async () => {
  const reasons: string[] = [];
  const upstream = await startUpstream(({ url }, res) => {
    const input_transformations = reasons.map((reason, i) => ({ id: `rs_${i}`, action: 'removed', reason }));
    const answer = url.includes('messages')
      ? { id: 'msg_1', type: 'message', content: [], usage: USAGE }
      : { id: 'resp_1', object: 'response', output: [], usage: USAGE };
    json(res, 200, { ...answer, input_transformations });
  });
  const proxy = await startProxy(upstream);
  const post = async (path: string, body: object, ...reported: string[]): Promise<void> => {
    reasons.splice(0, reasons.length, ...reported);
    const headers = { 'content-type': 'application/json' };
    await (await fetch(`${proxy.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
  };
  const words = [{ role: 'user', content: 'Why does the checkout fail?' }];
  await post('/v1/responses', { model: 'gpt-6.2', input: words }, 'prefix_mismatch', 'prefix_mismatch');
  await post('/v1/responses', { model: 'gpt-6.2', input: words }, 'turn_boundary', 'model_mismatch');
  await post('/v1/messages', { model: 'claude-opus-5', messages: words }, 'prefix_binding_mismatch');
  await post('/v1/messages', { model: 'claude-opus-5', messages: words }, 'end_user_binding_mismatch');
  await post('/v1/messages/count_tokens', { model: 'claude-opus-5', messages: words });
  await post('/v1/chat/completions', { model: 'qwen', messages: words });
  const lines = await proxy.requestLines(5);
  const health = (await (await fetch(`${proxy.url}/health`)).json()) as { prefix_breaks: object };
  expect(health.prefix_breaks).toEqual({ reported: 2, requests: 4 });
  const metrics = await (await fetch(`${proxy.url}/metrics`)).text();
  expect(metrics).toContain('mcp_pruner_prefix_breaks_total{model="gpt-6.2",wire="responses"} 1');
  await proxy.stop();
  const store = openSqliteStore({
    path: proxy.dbPath,
    clock: { nowMs: () => Date.now() },
    ttlMs: 1e9,
    maxBytes: 1e9,
    maxEvents: 100,
  });
  const report = await readPrefixBreaks(store.ledger, { sinceDay: '2020-01-01' });
  await store.close();
  expect(report.models).toEqual(
    expect.arrayContaining([
      { model: 'gpt-6.2', reported: 1, requests: 2 },
      { model: 'claude-opus-5', reported: 1, requests: 2 },
    ]),
  );
  expect(report).toMatchObject({ reported: 2, requests: 4 });
  const broken = lines.filter(({ requestId }) => report.breaks.some(({ request_id }) => request_id === requestId));
  expect(broken.map(({ model }) => model).toSorted()).toEqual(['claude-opus-5', 'gpt-6.2']);
  const ids = report.conversations.map(({ id }) => id);
  expect(lines.map(({ conversationId }) => conversationId)).toEqual(expect.arrayContaining(ids));
  expect(report.conversations.reduce((sum, { reported }) => sum + reported, 0)).toBe(2);
});

it('doctor shows the reports of changed history in the running proxy, and warns only if there are any', () => {
  const counts = (reported: number, requests: number) =>
    checkPrefixes({ prefixBreaks: new Map(Object.entries({ reported, requests })) });
  expect(counts(0, 1204)).toEqual([
    { level: 'ok', what: 'prefix breaks reported by the provider: 0 of 1,204 requests' },
  ]);
  expect(counts(1, 1204)).toMatchObject([{ level: 'note', advice: expect.stringContaining('log') }]);
  expect(counts(0, 0)).toEqual([]);
  expect(checkPrefixes(null)).toEqual([]);
});

it('a report of changed history names the change that the client made to the request', async () => {
  const isBroken = { now: false };
  const upstream = await startUpstream((_request, res) => {
    const report = isBroken.now ? { input_transformations: [{ id: 'rs_1', reason: 'prefix_mismatch' }] } : {};
    json(res, 200, { id: 'resp_1', object: 'response', output: [], usage: USAGE, ...report });
  });
  const proxy = await startProxy(upstream);
  const post = async (...words: string[]): Promise<void> => {
    const input = words.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }));
    const body = JSON.stringify({ model: 'gpt-6.2', input, prompt_cache_key: 'k' });
    const headers = { 'content-type': 'application/json' };
    await (await fetch(`${proxy.url}/v1/responses`, { method: 'POST', headers, body })).text();
  };
  await post('Why does the checkout fail?');
  await post('Why does the checkout fail?', 'I look.', 'Go on.');
  isBroken.now = true;
  await post('Why does the checkout fail?', 'I look again.', 'Go on.', 'Done.', 'And the cart?');
  const shown = async () => {
    const answer = await fetch(`${proxy.url}/page/api/contexts?days=7`);
    return ((await answer.json()) as { prefix_breaks: PrefixBreakReport }).prefix_breaks;
  };
  await expect
    .poll(shown)
    .toMatchObject({ reported: 1, requests: 3, breaks: [{ changed: 'the client changed message 1' }] });
  await proxy.stop();
  const { out } = await run(['report'], {
    env: { MCP_PRUNER_DB_PATH: proxy.dbPath },
    clock: { nowMs: () => Date.now() },
  });
  expect(out).toContain('prefix breaks reported by the provider: 1 of 3 requests');
  expect(out).toMatch(/ {2}request \S+, conversation \S+: the client changed message 1\n/);
});
