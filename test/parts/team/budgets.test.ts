import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Budgets } from '../../../src/ledger/budgets.ts';
import { run } from '../../cli/fake-io.ts';
import { aTurn } from '../../contract/ledger-store.suite.ts';
import { chatBody, oneResult } from '../../helpers/chat.ts';
import { json } from '../../helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../../helpers/messages.ts';
import { hasPostgres } from '../../helpers/postgres.ts';
import { manualClock, openStore } from '../../helpers/rewriter.ts';
import { serverLog } from '../../helpers/texts.ts';
import { until } from '../../helpers/until.ts';
import { keys, Member, onFile, onPostgres, startTeam } from './team.ts';

const PROVIDER = { authorization: 'Bearer sk-provider' };
/** A model whose price is in the table: each answer costs $2.25. */
const ANSWER = {
  ...{ id: 'c', object: 'chat.completion', model: 'gpt-5' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1_000_000, completion_tokens: 100_000 },
};
const HELLO = JSON.stringify({ ...JSON.parse(chatBody(oneResult('short')).toString()), model: 'gpt-5' });

describe.each([
  { on: 'a file', place: onFile, runs: true },
  { on: 'PostgreSQL', place: onPostgres, runs: hasPostgres },
])('the dollars of a key on $on', ({ place: open, runs }) => {
  it.skipIf(!runs)(
    'are limited by its budget on every server, in the error format of the wire, until it is raised',
    async () => {
      const place = await open();
      const [first, second] = await Promise.all([startTeam(place), startTeam(place)]);
      for (const { upstream } of [first, second]) upstream.answer = (_request, res) => json(res, 200, ANSWER);
      const key = await keys(place, 'create', '--name', 'tom', '--project', 'web', '--dollars-per-month', '2.5');
      const free = await keys(place, 'create', '--name', 'eve', '--project', 'web');
      const ask = async (stage: typeof first, by = key) => {
        await pause(100); // billing takes a moment, and each request costs
        return new Member(stage, by).send('/v1/chat/completions', HELLO, PROVIDER);
      };
      expect((await ask(first)).status).toBe(200);
      await until(() => first.log().includes('a monthly budget is nearly used up'));
      expect((await ask(second)).status).toBe(200);
      const refused = await until(async () => {
        const answer = await ask(first); // for a moment only what is under way uses the budget up
        return Number(answer.headers['retry-after']) > 60 && answer;
      });
      expect([refused.status, JSON.parse(refused.body.toString())]).toMatchObject([
        429,
        { error: { code: 'key_dollars_used_up' } },
      ]);
      // the client asks ten times a second, and billing takes seconds: what is under way counts
      expect(first.upstream.requests.length + second.upstream.requests.length).toBeLessThanOrEqual(8);
      const now = new Date();
      const monthEnds = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
      expect(Math.abs(Number(refused.headers['retry-after']) - (monthEnds - now.getTime()) / 1000)).toBeLessThan(60);
      await until(async () => (await ask(second)).status === 429);
      const { status, body } = await new Member(second, key).send('/v1/messages', messagesBody(oneCall('x')), PROVIDER);
      expect([status, JSON.parse(body.toString())]).toMatchObject([429, { error: { type: 'rate_limit_error' } }]);
      expect((await ask(first, free)).status).toBe(200);
      expect((await new Member(first, key).send('/v1/models')).status).toBe(200);
      await keys(place, 'set', 'tom', '--dollars-per-month', '1000000');
      await until(async () => (await ask(second)).status === 200);
      const settings = async (...args: string[]) => {
        const at = { env: place, clock: { nowMs: () => Date.now() } };
        expect((await run(['projects', 'set', 'web', ...args], at)).code).toBe(0);
      };
      await settings('--dollars-per-month', '1');
      for (const stage of [first, second]) {
        const over = await until(async () => {
          const answer = await ask(stage, free);
          return answer.status === 429 && answer;
        });
        expect(JSON.parse(over.body.toString())).toMatchObject({ error: { code: 'project_dollars_used_up' } });
      }
      await settings('--dollars-per-month', 'none', '--mode', 'off');
      await pause(1_000); // in force on both by then
      for (const [seed, stage] of [first, second].entries()) {
        const log = chatBody(oneResult(serverLog(400, seed)));
        expect((await new Member(stage, free).send('/v1/chat/completions', log, PROVIDER)).status).toBe(200);
        expect(stage.upstream.requests.at(-1)?.body.equals(log)).toBe(true);
      }
      const { out } = await run(['report', '--by', 'key', '--json', '--project', 'web'], {
        env: place,
        clock: { nowMs: () => Date.now() },
      });
      const { rows } = JSON.parse(out) as { rows: { dollars: number; requests: number; key: { name: string } }[] };
      expect(rows.map((row) => row.key.name)).toContain('tom');
      for (const { dollars, requests } of rows) expect(dollars).toBeCloseTo(2.25 * requests, 6);
    },
  );
});

describe('budgets', () => {
  it('count requests in progress with the mean of recent bills, and ask to try again soon', async () => {
    const { ledger } = openStore(':memory:', manualClock(0));
    const budgets = new Budgets({
      ...{ store: ledger, clock: manualClock(0), onWarn: () => {}, onFailure: () => {} },
      budgets: () => [{ of: 'key', name: 'key_1', dollars: 10 }],
    });
    await budgets.refresh();
    const enter = (count: number) => Array.from({ length: count }, () => budgets.enter('key_1', 'web'));
    enter(3); // nothing was billed yet, so that nothing is expected
    expect(budgets.over('key_1', 'web')).toBeNull();
    budgets.add(aTurn('r1', { keyId: 'key_1', dollars: 2 }));
    const [leave] = enter(1);
    expect(budgets.over('key_1', 'web')).toEqual({ code: 'key_dollars_used_up', retryAfterS: 5 });
    expect(budgets.over('key_2', 'web')).toBeNull();
    leave?.();
    leave?.();
    expect(budgets.over('key_1', 'web')).toBeNull();
  });

  it('begin anew with each month, warn once, and keep their figures while the store is away', async () => {
    const clock = manualClock(Date.UTC(2026, 0, 31, 23, 0));
    const { ledger } = openStore(':memory:', clock);
    const failures: string[] = [];
    const warned: number[] = [];
    let isAway = false;
    const budgets = new Budgets({
      store: { spent: (query) => (isAway ? Promise.reject(new Error('away')) : ledger.spent(query)) },
      clock,
      budgets: () => [{ of: 'project', name: 'web', dollars: 10 }],
      onWarn: (_budget, dollars) => warned.push(dollars),
      onFailure: (reason) => failures.push(reason),
    });
    const spend = (day: string, value: number, project = 'web') =>
      ledger.add([], [{ day, project, slice: 'all', key: '', field: 'dollars', value }]);
    await spend('2026-01-02', 7);
    await spend('2025-12-31', 50);
    await spend('2026-01-31', 99, 'api');
    await budgets.refresh();
    expect([budgets.over(undefined, 'web'), budgets.over(undefined, 'api'), warned]).toEqual([null, null, []]);
    budgets.add(aTurn('r1', { project: 'web', dollars: 1.5 }));
    await spend('2026-01-31', 1.5);
    await budgets.refresh();
    await budgets.refresh();
    expect(warned).toEqual([8.5]);
    isAway = true;
    budgets.add(aTurn('r2', { project: 'web', dollars: 1.5 }));
    await budgets.refresh();
    expect(budgets.over('key_1', 'web')).toEqual({ code: 'project_dollars_used_up', retryAfterS: 3_600 });
    expect(failures).toEqual(['budgets_not_read']);
    isAway = false;
    clock.now += 3_600_000;
    await budgets.refresh();
    expect(budgets.over('key_1', 'web')).toBeNull();
  });
});
