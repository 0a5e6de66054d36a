import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { Billing } from '@mcp-pruner/ledger/billing.ts';
import { Budgets, type BudgetsOptions } from '@mcp-pruner/ledger/budgets.ts';
import { Prices } from '@mcp-pruner/money/prices.ts';
import type { Budget, BudgetRequest, OverBudget, Reservation } from 'mcp-pruner/core/ports/budgets.ts';
import { usageIn } from 'mcp-pruner/proxy/doors/exchange-usage.ts';
import { factsOfUnread, usageFacts } from 'mcp-pruner/proxy/report/ledger-facts.ts';
import { AnswerReader } from 'mcp-pruner/wires/dialects/answers/reader.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { aTurn } from '../../../test/contract/ledger-store.suite.ts';
import { chatBody, oneResult } from '../../../test/helpers/chat.ts';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../../../test/helpers/messages.ts';
import { manualClock, openStore } from '../../../test/helpers/rewriter.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import { keys, Member, PLACES, startTeam } from './team.ts';

const PROVIDER = { authorization: 'Bearer sk-provider' };
/** A model whose price is in the table: each answer costs $2.25. */
const ANSWER = {
  ...{ id: 'c', object: 'chat.completion', model: 'gpt-5' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1_000_000, completion_tokens: 100_000 },
};
const HELLO = JSON.stringify({ ...JSON.parse(chatBody(oneResult('short')).toString()), model: 'gpt-5' });

describe.each(PLACES)('the dollars of a key on $on', ({ place: open, runs }) => {
  it.skipIf(!runs)(
    'are limited by its budget on every server until it is raised, with errors in the format of the wire',
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
      let seed = 0;
      for (const stage of [first, second]) {
        await until(async () => {
          await pause(100); // each server reads the settings from time to time
          const log = chatBody(oneResult(serverLog(400, seed++)), { model: 'gpt-5' });
          const { status } = await new Member(stage, free).send('/v1/chat/completions', log, PROVIDER);
          return status === 200 && stage.upstream.requests.at(-1)?.body.equals(log);
        });
      }
      const rows = await until(async () => {
        const at = { env: place, clock: { nowMs: () => Date.now() } };
        const { out } = await run(['report', '--by', 'key', '--json', '--project', 'web'], at);
        const billed = JSON.parse(out) as { rows: { dollars: number; requests: number; key: { name: string } }[] };
        const isWhole = billed.rows.every(({ dollars, requests }) => Math.abs(dollars - 2.25 * requests) < 1e-6);
        return isWhole && billed.rows.some(({ key }) => key.name === 'tom') && billed.rows;
      });
      expect(rows.length).toBeGreaterThan(0);
    },
  );
});

/** Budgets over a store in memory. Opus costs $5 and $25 a million tokens in the table. */
function budgetsOf(limits: readonly Budget[], more: Partial<BudgetsOptions> = {}) {
  const clock = manualClock(0);
  return new Budgets({
    ...{ store: openStore(':memory:', clock).ledger, clock, onWarn: () => {}, onFailure: () => {} },
    ...{ budgets: () => limits, prices: new Prices(installed), firstBillMs: 1 },
    ...more,
  });
}

const installed = [{ path: 'prices.toml', text: readFileSync('config/prices.toml', 'utf8') }];
let number = 0;
const asking = (more: Partial<BudgetRequest> = {}): BudgetRequest => ({
  ...{ requestId: `r${++number}`, keyId: 'key_1', project: 'web', dollars: 0, signal: new AbortController().signal },
  ...more,
});
const placeOf = async (entered: Promise<Reservation | OverBudget>): Promise<Reservation> => {
  const place = await entered;
  if ('code' in place) throw new Error(place.code);
  return place;
};

describe('budgets', () => {
  const ofKey = [{ of: 'key', name: 'key_1', dollars: 10 }] as const;

  it('admit one request at a time until the first bill, for which other requests wait', async () => {
    const budgets = budgetsOf(ofKey, { firstBillMs: 60_000 });
    await budgets.refresh();
    const first = await placeOf(budgets.enter(asking()));
    const others = [asking(), asking()].map((request) => budgets.enter(request));
    expect(await placeOf(budgets.enter(asking({ keyId: 'key_2' })))).toBeDefined(); // no budget
    const entered: number[] = [];
    others.forEach((other, i) => void other.then(() => entered.push(i)));
    await nextTurn();
    expect(entered).toEqual([]);
    first.settle(2, true);
    for (const other of others) await placeOf(other);
  });

  it('refuse requests that wait too long for the first bill', async () => {
    const budgets = budgetsOf(ofKey);
    await budgets.refresh();
    await placeOf(budgets.enter(asking()));
    expect(await budgets.enter(asking())).toEqual({ code: 'first_bill_awaited', retryAfterS: 5 });
  });

  it('reserve for each request the cost of the largest recent one, and at least the cost of its own size', async () => {
    const budgets = budgetsOf(ofKey);
    await budgets.refresh();
    (await placeOf(budgets.enter(asking()))).settle(3, true);
    (await placeOf(budgets.enter(asking()))).settle(0.1, true); // the largest fades, and stays above the mean
    const place = await placeOf(budgets.enter(asking()));
    await placeOf(budgets.enter(asking()));
    expect(await budgets.enter(asking())).toEqual({ code: 'key_dollars_used_up', retryAfterS: 5 });
    place.settle(0, false);
    place.settle(100, true); // only the first call counts
    expect(await budgets.enter(asking({ dollars: 7 }))).toMatchObject({ code: 'key_dollars_used_up' });
    await placeOf(budgets.enter(asking()));
  });

  it('are exceeded by several processes at once by at most one request of each other process', async () => {
    const dollars = 1;
    const limits = [{ of: 'key', name: 'key_1', dollars: 10 }] as const;
    for (const processes of [1, 3, 20]) {
      const store = { spent: async () => [], processes: async () => processes };
      const all = Array.from({ length: processes }, () => budgetsOf(limits, { store }));
      const places: Reservation[] = [];
      for (const budgets of all) {
        await budgets.refresh();
        (await placeOf(budgets.enter(asking()))).settle(0, true); // the first bill
        for (let i = 0; i < 60; i++) {
          const entered = await budgets.enter(asking({ dollars }));
          if (!('code' in entered)) places.push(entered);
        }
      }
      expect(places.length * dollars).toBeGreaterThanOrEqual(9);
      expect(places.length * dollars).toBeLessThanOrEqual(10 + (processes - 1));
      // answered requests count until all processes know their bills
      for (const place of places) place.settle(dollars, true);
      for (const budgets of all) {
        const entered = await budgets.enter(asking({ dollars }));
        expect(entered).toMatchObject({ code: 'key_dollars_used_up' });
      }
    }
  });

  it('refuse a request that costs more than the remaining budget, until the month ends', async () => {
    const budgets = budgetsOf(ofKey);
    await budgets.refresh();
    expect(await budgets.enter(asking({ dollars: 11 }))).toEqual({
      ...{ code: 'key_dollars_used_up', retryAfterS: 31 * 86_400 },
    });
  });

  it('count an answered request until its bill arrives, and then the bill', async () => {
    const budgets = budgetsOf(ofKey);
    await budgets.refresh();
    const request = asking();
    (await placeOf(budgets.enter(request))).settle(4, true);
    expect(budgets.spent('key', 'key_1')).toBe(4);
    budgets.add(aTurn(request.requestId, { keyId: 'key_1', dollars: 4.5 }));
    expect(budgets.spent('key', 'key_1')).toBe(4.5);
    budgets.add(aTurn('of another', { keyId: 'key_1', dollars: 1 }));
    expect(budgets.spent('key', 'key_1')).toBe(5.5);
  });

  it('quote the highest price of the named models, and the ceiling for unpriced models', () => {
    const rate = (budgets: Budgets, ...models: string[]) => budgets.quote(models, undefined).inputDollars(1_000_000);
    const lenient = budgetsOf(ofKey);
    const [mini = 0, large = 0, unknown = 0] = ['gpt-5-mini', 'gpt-5', 'nobody-knows'].map((one) => rate(lenient, one));
    expect(mini).toBeLessThan(large);
    expect(unknown).toBeGreaterThan(large);
    expect(rate(lenient, 'gpt-5-mini', 'gpt-5')).toBe(large);
    expect(rate(lenient)).toBe(unknown);
    expect(rate(lenient, 'nobody-knows', 'gpt-5')).toBe(large);
    const million = { input: 1_000_000, output: 0, read: null, written: null, written1h: null };
    expect(lenient.billed(['nobody-knows'], undefined, million)).toBeGreaterThan(large);
  });

  it('restart each month, warn once, and keep their figures during a store outage', async () => {
    const clock = manualClock(Date.UTC(2026, 0, 31, 23, 0));
    const { ledger } = openStore(':memory:', clock);
    const failures: string[] = [];
    const warned: number[] = [];
    let isAway = false;
    const budgets = budgetsOf([{ of: 'project', name: 'web', dollars: 10 }], {
      store: {
        spent: (query) => (isAway ? Promise.reject(new Error('away')) : ledger.spent(query)),
        processes: async () => 1,
      },
      clock,
      onWarn: (_budget, dollars) => warned.push(dollars),
      onFailure: (reason) => failures.push(reason),
    });
    const over = async (keyId: string | undefined, project: string) => {
      const entered = await budgets.enter(asking({ keyId, project }));
      if ('code' in entered) return entered;
      entered.settle(0, false);
      return null;
    };
    const spend = (day: string, value: number, project = 'web') =>
      ledger.add([], [{ day, project, slice: 'all', key: '', field: 'dollars', value }]);
    await spend('2026-01-02', 7);
    await spend('2025-12-31', 50);
    await spend('2026-01-31', 99, 'api');
    await budgets.refresh();
    expect([await over(undefined, 'web'), await over(undefined, 'api'), warned]).toEqual([null, null, []]);
    budgets.add(aTurn('r1', { project: 'web', dollars: 1.5 }));
    await spend('2026-01-31', 1.5);
    await budgets.refresh();
    await budgets.refresh();
    expect(warned).toEqual([8.5]);
    isAway = true;
    budgets.add(aTurn('r2', { project: 'web', dollars: 1.5 }));
    await budgets.refresh();
    expect(await over('key_1', 'web')).toEqual({ code: 'project_dollars_used_up', retryAfterS: 3_600 });
    expect(failures).toEqual(['budgets_not_read']);
    isAway = false;
    clock.now += 3_600_000;
    await budgets.refresh();
    expect(await over('key_1', 'web')).toBeNull();
  });
});

describe('the dollars that a budget counts before the bill', () => {
  const messages = { input_tokens: 1_000, output_tokens: 100 };
  const chat = { prompt_tokens: 1_000, completion_tokens: 100 };
  const answers: readonly (readonly [string, string, object])[] = [
    ['flex', 'gpt-5', { service_tier: 'flex', choices: [], usage: chat }],
    ['priority', 'gpt-5', { service_tier: 'priority', output: [], usage: messages }],
    ['fast, in one country', 'claude-opus-5', { usage: { ...messages, speed: 'fast', inference_geo: 'us' } }],
    ['three searches', 'claude-opus-5', { usage: { ...messages, server_tool_use: { web_search_requests: 3 } } }],
    ['searches among items', 'gpt-5', { output: [{ type: 'web_search_call' }], usage: messages }],
    [
      'caches of both lifetimes',
      'claude-opus-5',
      {
        usage: {
          ...{ ...messages, cache_read_input_tokens: 5_000, cache_creation_input_tokens: 900 },
          cache_creation: { ephemeral_5m_input_tokens: 400, ephemeral_1h_input_tokens: 500 },
        },
      },
    ],
    [
      'reasoning beside the completion',
      'grok-4',
      { choices: [], usage: { ...chat, total_tokens: 3_900, completion_tokens_details: { reasoning_tokens: 2_800 } } },
    ],
    [
      'a compaction by the provider',
      'claude-opus-5',
      {
        usage: {
          ...messages,
          iterations: [
            { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500 },
            { type: 'message', ...messages },
          ],
        },
      },
    ],
    ['a cost of its own and no price', 'nobody-knows', { choices: [], usage: { ...chat, cost: 0.0123 } }],
    ['neither a cost nor a price', 'nobody-knows', { choices: [], usage: chat }],
  ];

  it.each(answers)('are those of the bill: %s', (_, model, answer) => {
    const reader = new AnswerReader();
    reader.event(Buffer.from(JSON.stringify({ model, ...answer })));
    const read = reader.end();
    const measured = usageIn(read, { in: 4_000, out: 400 }, false);
    const cloud = undefined;
    const prices = new Prices(installed);
    const billing = new Billing({ prices, onFailure: expect.unreachable }, new Map(), [], 0);
    const about = { requestId: 'r', project: 'web', wire: 'unread', cloud, keyId: 'key_1', client: undefined, model };
    billing.bill({
      ...{ ...factsOfUnread(about, 4_000), atMs: 0, usage: usageFacts(read.usage) },
      metered: { model, output: measured.billed.output ?? 0 },
    });
    const [bill] = billing.billed;
    expect(bill?.turn.dollars).toBeGreaterThan(0);
    expect(budgetsOf(ofOne, { prices }).billed([model], cloud, measured.billed)).toBeCloseTo(
      bill?.turn.dollars ?? 0,
      9,
    );
  });
});

const ofOne = [{ of: 'key', name: 'key_1', dollars: 10 }] as const;
