import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { Client, FLEET_ENV } from './helpers.ts';

/** 40,000 tokens of input, half of them from the cache, and 10,000 of output: 0.05 dollars by this table. */
const PRICES = `[[price]]
model = "priced*"
provider = "test"
input = 1.0
cache_read = 0.5
output = 2.0
day = "2026-01-01"
source = "a test"
`;

async function startWithModel(model: string): Promise<Client> {
  const usage = {
    prompt_tokens: 40_000,
    completion_tokens: 10_000,
    prompt_tokens_details: { cached_tokens: 20_000 },
  };
  const upstream = await startUpstream((_request, res) => {
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ model, choices: [{ message: { role: 'assistant', content: 'fine' } }], usage }));
  });
  const file = join(tempFolder(), 'prices.toml');
  writeFileSync(file, PRICES);
  return new Client((await startProxy(upstream, { env: { ...FLEET_ENV, MCP_PRUNER_PRICES: file } })).url);
}

const orders = [['ask', 'one'], ['ask', 'two'], ['ask', 'three'], ['stay']];

describe('a cost limit', () => {
  it('is measured in dollars from the price table, and ends the child once it is reached', async () => {
    const client = await startWithModel('priced-1');
    const made = await client.agent(orders, { child_id: 'c', limits: { cost_usd: 0.08 } });
    expect(made.limits_unenforced).toEqual([]);
    const ended = await client.call('child_status', { child_id: 'c', wait_ms: 20_000 });
    expect(ended).toMatchObject({ stop_reason: 'limit:cost_usd', usage: { messages: 2, tokens: 100_000 } });
    expect(ended.usage.cost_usd).toBeCloseTo(0.1, 10);
    const { events } = await client.call('events_watch', { from_seq: 0, limit: 200 });
    const event = events.find(({ kind }: { kind: string }) => kind === 'child_limit_exceeded');
    expect(event.payload).toMatchObject({ limit: 'cost_usd', allowed: 0.08, used: expect.closeTo(0.1, 10) });
  });

  it('is reported as unenforced once a model without a price was used', async () => {
    const client = await startWithModel('unknown-1');
    await client.agent(orders.slice(0, 3), { child_id: 'c', limits: { cost_usd: 0.08 } });
    expect(await client.call('child_status', { child_id: 'c', wait_ms: 20_000 })).toMatchObject({
      exit_code: 0,
      limits_unenforced: ['cost_usd'],
      usage: { messages: 3, cost_usd: null },
    });
  });
});
