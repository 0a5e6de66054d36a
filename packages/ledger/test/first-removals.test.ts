import { requestsBefore } from '@mcp-pruner/page/requests.ts';
import { describe, expect, it } from 'vitest';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { readReport } from '../src/ledger.ts';
import { BillingUpstream, conversation, priceFile } from './team.ts';

const TURNS = 5;

describe('a cut text', () => {
  it.each([
    ['pruned', {}],
    ['only looked at', { MCP_PRUNER_MODE: 'shadow' }],
  ])('is counted once, and the same in the events, the live list, the totals and the report: %s', async (_, env) => {
    const upstream = new BillingUpstream();
    const proxy = await startProxy(await upstream.start(), { env: { MCP_PRUNER_PRICES: priceFile(), ...env } });
    const messages = conversation('case', TURNS);
    for (let turn = 1; turn <= TURNS; turn++) {
      await upstream.send(proxy.url, messages.slice(0, 2 * turn - 1));
      if (turn === 3) await proxy.restart();
    }
    // the client asks once more, and counts
    await upstream.send(proxy.url, messages);
    await upstream.send(proxy.url, messages, {}, '/v1/messages/count_tokens');
    await proxy.stop();
    const store = openStore(proxy.dbPath);
    const events = await store.events({ fromSeq: 0, limit: 999 });
    const amount = (kind: string, field: string): number =>
      events.reduce((all, event) => all + (event.kind === kind ? Number(event.payload[field]) : 0), 0);
    const removed = amount('pruned', 'tokens_before') - amount('pruned', 'tokens_after');
    expect(removed).toBeGreaterThan(5_000);
    expect(amount('request', 'tokens_saved')).toBe(removed);
    const live = await requestsBefore(store, (events.at(-1)?.seq ?? 0) + 1, 99);
    expect(live.requests.reduce((all, { tokensSaved }) => all + tokensSaved, 0)).toBe(removed);
    const { shares } = await readReport(store.ledger, { sinceDay: '2000-01-01' });
    const used = await store.ledger.sums({ sinceDay: '2000-01-01', slice: 'use' });
    const [before, after] = ['tokens_before', 'tokens_after'].map((name) =>
      used.reduce((all, { field, value }) => all + (field === name ? value : 0), 0),
    );
    const wires = await store.ledger.sums({ sinceDay: '2000-01-01', slice: 'wire' });
    const wire = (name: string): number => wires.find(({ field }) => field === name)?.value ?? 0;
    expect(wire('tokens_before')).toBe(before);
    expect(Math.abs((before ?? 0) / shares.ofTexts.whole - 1)).toBeLessThan(0.02);
    if ('MCP_PRUNER_MODE' in env) return;
    expect((before ?? 0) - (after ?? 0)).toBe(removed);
    expect(wire('tokens_before') - wire('tokens_after')).toBe(removed);
    expect(Math.abs(shares.ofTexts.part / removed - 1)).toBeLessThan(0.02);
  });
});
