import type { LimitsReport } from '@mcp-pruner/limits/shapes.ts';
import { expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody } from '../../../test/helpers/messages.ts';
import { until } from '../../../test/helpers/until.ts';
import { send } from '../../../test/helpers/wire.ts';
import { LimitBooks } from '../../limits/test/provider.ts';
import { Member, newKey, onFile, startTeam } from './team.ts';

const TOKEN = 'an-admin-token-of-the-test';

it('the admin API and the terminal report how much of a shared plan each key and project used', async () => {
  const place = await onFile();
  const clock = { now: Date.now(), nowMs: () => clock.now };
  const books = new LimitBooks(clock.now);
  const stage = await startTeam(place, { MCP_PRUNER_ADMIN_TOKEN: TOKEN }, clock);
  stage.upstream.answer = (_request, res) => {
    const usage = { input_tokens: 100, output_tokens: 20 };
    json(res, 200, { id: 'm', type: 'message', role: 'assistant', content: [], usage }, books.anthropic());
  };
  const [web, api] = [await newKey(place, 'web'), await newKey(place, 'api')];
  for (const [key, percent] of [
    [web, 10],
    [api, 6],
    [web, 3],
  ] as const) {
    books.use(percent);
    const headers = { authorization: 'Bearer sk-ant-oat01-plan', 'content-type': 'application/json' };
    const { status } = await new Member(stage, key).send(
      '/v1/messages',
      messagesBody([{ role: 'user', content: 'hi' }]),
      headers,
    );
    expect(status).toBe(200);
    clock.now += 2_000;
  }
  const accounts = await until(async () => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await send(`${stage.url}/admin/v1/limits`, { method: 'GET', headers });
    const report = JSON.parse(answer.body.toString()) as LimitsReport;
    const shares = report.accounts[0]?.windows[0]?.keys.map(({ used }) => used) ?? [];
    return shares.join() === '0.06,0.03' && report.accounts; // readings are written in the background
  });
  const window = accounts[0]?.windows[0];
  expect(accounts).toHaveLength(1);
  expect(window).toMatchObject({ window: '5h', used: 0.19, elsewhere: 0.1 });
  expect(window?.keys.map(({ used }) => used)).toEqual([0.06, 0.03]);
  expect(window?.projects).toEqual([
    { project: 'api', used: 0.06 },
    { project: 'web', used: 0.03 },
  ]);
  const { out } = await run(['limits'], { env: place, clock });
  expect(out).toMatch(/key +of api +6\.0 %\n +key +of web +3\.0 %/);
  expect((await send(`${stage.url}/admin/v1/limits`, { method: 'GET' })).status).toBe(401);
});
