import type { SeamShown } from '@mcp-pruner/limits/shapes.ts';
import type { SeamsReport } from 'mcp-pruner/core/ports/seams-report.ts';
import { expect, it } from 'vitest';
import { sqliteDriver } from '../../../src/store/sqlite/driver.ts';
import { run } from '../../../test/cli/fake-io.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody, toolResult, toolUse, type WireMessage } from '../../../test/helpers/messages.ts';
import { hasPostgres, sharedDatabase } from '../../../test/helpers/postgres.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';

const BEGAN_MS = Date.parse('2026-11-27T10:00:00Z');

/** A conversation of two tasks: the second one begins when the context holds `tokens` tokens. */
async function twoTasks(tokens: number, env: Record<string, string> = {}) {
  const clock = { now: BEGAN_MS, nowMs: () => clock.now };
  let read = 1_000;
  const upstream = await startUpstream((_request, res) => {
    const usage = { input_tokens: 500, cache_read_input_tokens: read, output_tokens: 20 };
    const content = [{ type: 'text', text: 'Done.' }];
    json(res, 200, { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-5', usage, content });
  });
  const proxy = await startProxy(upstream, { clock, env });
  const ask = async (messages: readonly WireMessage[]): Promise<void> => {
    const headers = { 'content-type': 'application/json', 'x-api-key': 'k', 'x-claude-code-session-id': 'one' };
    const body = messagesBody(messages, { model: 'claude-opus-5' });
    const answer = await fetch(`${proxy.url}/v1/messages`, { method: 'POST', headers, body });
    expect(answer.status).toBe(200);
    await answer.text();
    clock.now += 10_000;
  };
  const messages: WireMessage[] = [{ role: 'user', content: 'Fix the checkout of the shop, please.' }];
  await ask(messages);
  messages.push({ role: 'assistant', content: [toolUse('t1', 'Bash', { command: 'npm test' })] });
  messages.push({ role: 'user', content: [toolResult('t1', 'ok')] });
  read = tokens - 500;
  await ask(messages);
  messages.push({ role: 'assistant', content: [{ type: 'text', text: 'Done.' }] });
  messages.push({ role: 'user', content: '<system-reminder>\nThe todo list is empty.\n</system-reminder>' });
  await ask(messages); // a client's reminder is no seam
  const given = { env: { MCP_PRUNER_DB_PATH: proxy.dbPath, ...env }, clock };
  const reports = async () => {
    await proxy.stop();
    const limits = JSON.parse((await run(['limits', '--json'], given)).out) as { seam: SeamShown | null };
    const { seams } = JSON.parse((await run(['report', '--json'], given)).out) as SeamsReport;
    await proxy.start();
    return { seam: limits.seam, seams };
  };
  const end = async () => {
    messages.push({ role: 'assistant', content: [{ type: 'text', text: 'Noted.' }] });
    messages.push({ role: 'user', content: 'Now the invoices: why is the total wrong?' });
    await ask(messages);
  };
  return { proxy, given, reports, end };
}

const stores = [['SQLite', () => ({})] as const, ...(hasPostgres ? [['PostgreSQL', sharedDatabase] as const] : [])];

it.each(stores)('finished work is reported by limits and report once a new task begins (%s)', async (_name, open) => {
  const env = (await open()) as Record<string, string>;
  const { proxy, given, reports, end } = await twoTasks(187_000, env);
  expect((await reports()).seam).toBeNull();
  await end();
  const line = async (path: string) =>
    (await fetch(`${proxy.url}${path}`)).json() as Promise<{ finished: string | null }>;
  await proxy.restart(); // bills all requests
  await end();
  const shown = async () => (await line('/statusline?session=one')).finished;
  expect(await until(shown)).toMatch(/^187k of finished work, \$0\.\d\d a turn: \/compact$/);
  const { seam, seams } = await reports();
  const named = { conversation: expect.any(String), weight_tokens: 187_000, price_usd: expect.any(Number) };
  expect(seam).toEqual(named); // no further field
  expect(seams.conversations).toEqual([{ id: seam?.conversation, weight_tokens: 187_000, price_usd: seam?.price_usd }]);
  // 500 tokens of each request were not read from the cache, and bill ten times as much
  expect(seams.weight_usd).toBeCloseTo((2 * (186_500 * 0.5 + 500 * 5)) / 1_000_000, 6);
  const text = (await run(['limits'], given)).out;
  expect(text).toContain('187k of finished work');
});

it('a store of an earlier version, without the table of summaries, is reported all the same', async () => {
  const { proxy, given } = await twoTasks(187_000, {});
  await proxy.stop();
  const file = new (sqliteDriver())(proxy.dbPath);
  file.exec('DROP TABLE seam_compaction');
  file.close();
  const report = await run(['report', '--json'], given);
  expect(report).toMatchObject({ code: 0, err: '' });
  expect((JSON.parse(report.out) as SeamsReport).seams.compactions).toMatchObject({ made: 0, usd_spent: 0 });
  expect(await run(['why', '--latest'], given)).toMatchObject({ code: 0 });
});

it('finished work below 100,000 tokens is no line of its own, but stands in the report', async () => {
  const { reports, end } = await twoTasks(99_000);
  await end();
  const { seam, seams } = await reports();
  expect(seam).toBeNull();
  expect(seams.conversations).toMatchObject([{ weight_tokens: 99_000 }]);
});
