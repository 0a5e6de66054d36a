import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { readReport } from '../src/ledger.ts';
import { all, MODEL, messagesUsage, type Turn, WIRES, type WireForm } from './wire-forms.ts';

const RATES = { input: 10, read: 1, write: 12.5, output: 50 };
const PRICES = `[[price]]
model = "${MODEL}"
provider = "acme"
input = ${RATES.input}
cache_read = ${RATES.read}
cache_write_5m = ${RATES.write}
output = ${RATES.output}
day = "2026-11-23"
source = "made up"
`;

/**
 * Plays a conversation on a wire whose upstream bills four characters a token.
 *
 * @param cacheFrom - the first request whose prompt is cached, from 0
 */
async function play(wire: WireForm, { stream = false, requests = 4, cacheFrom = 0 } = {}) {
  let [dollars, twin, cached, cachedWhole] = [0, 0, 0, 0];
  const { read: readRate, write, input: fresh, output } = RATES;
  const rateOfNew = wire.writes && cacheFrom === 0 ? write : fresh;
  const upstream = await startUpstream((request, res, index) => {
    const input = Math.ceil(request.body.length / 4);
    const caches = index >= cacheFrom;
    const [read, rest] = [cached, input - cached];
    const written = wire.writes && caches ? rest : 0;
    const counts = { read, fresh: rest - written, written, said: 20, thought: 300, index };
    cached = caches ? input : 0;
    dollars += (counts.fresh * fresh + written * write + read * readRate + 320 * output) / 1e6;
    res.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
    if (!stream) return res.end(JSON.stringify({ model: MODEL, ...wire.answer(counts) }));
    return res.end(
      wire
        .events(counts)
        .map((event) => `data: ${JSON.stringify(event)}\n\n`)
        .join(''),
    );
  });
  const prices = join(tempFolder(), 'prices.toml');
  writeFileSync(prices, PRICES);
  const url = `http://127.0.0.1:${upstream.port}`;
  const env = {
    MCP_PRUNER_PRICES: prices,
    MCP_PRUNER_ANTHROPIC_URL: `${url}/v1`,
    MCP_PRUNER_GEMINI_URL: url,
  };
  const proxy = await startProxy(upstream, { env });
  const turns: Turn[] = [];
  for (let i = 0; i < requests; i++) {
    const body = JSON.stringify(wire.body(turns, stream));
    const whole = Math.ceil(body.length / 4);
    twin += ((whole - cachedWhole) * rateOfNew + cachedWhole * readRate + 320 * output) / 1e6;
    if (cacheFrom === 0) cachedWhole = whole;
    const headers = { 'content-type': 'application/json' };
    await (await fetch(`${proxy.url}${wire.path(stream)}`, { method: 'POST', headers, body })).text();
    turns.push([`npm run job-${i}`, serverLog(200, i)]);
  }
  await proxy.requestLines(requests);
  await proxy.stop();
  const { ledger } = openStore(proxy.dbPath);
  const [conversation] = await ledger.conversations({ sinceMs: 0, limit: 1 });
  const billed = await ledger.turns({ conversationId: conversation?.conversationId ?? '', limit: 99 });
  return { dollars, saved: twin - dollars, billed, report: await readReport(ledger, { sinceDay: '2000-01-01' }) };
}

describe.each(Object.entries(WIRES))('the bill of a conversation over %s', (_, wire) => {
  it.each([
    ['whole', false],
    ['streamed', true],
  ])('is the provider’s to the cent for answers %s, with its model and a saving', async (_how, stream) => {
    const { dollars, saved, report } = await play(wire, { stream });
    expect(report.models.map(({ model, requests }) => [model, requests])).toEqual([[MODEL, 4]]);
    expect(report.totals).toMatchObject({ requests: 4, unpriced: 0, estimated: 0, output: 4 * 320 });
    expect(report.totals.dollars).toBeCloseTo(dollars, 9);
    expect(saved).toBeGreaterThan(0.05);
    // the first four requests of a model whose tokeniser is like no other
    expect(Math.abs(report.totals.gross / saved - 1)).toBeLessThan(0.3);
    expect(report.totals.gross).toBeCloseTo(report.totals.dollarsWithout - report.totals.dollars, 12);
  });
});

describe('a provider that reports no cache figures', () => {
  const withFiguresFrom = (first: number): WireForm => ({
    ...(WIRES.messages as WireForm),
    answer: (counts) => ({
      type: 'message',
      usage: counts.index < first ? { input_tokens: all(counts), output_tokens: counts.said } : messagesUsage(counts),
    }),
  });

  it('is billed without a cache in the counterfactual as well, whatever cache_control requests', async () => {
    const { report } = await play(withFiguresFrom(9), { requests: 6, cacheFrom: 9 });
    const { removed, gross } = report.totals;
    expect(removed).toBeGreaterThan(10_000);
    expect(gross).toBeCloseTo((removed * RATES.input) / 1e6, 5);
    expect(report.misses).toEqual([]);
  });

  it('is billed with a cache from the first answer that has cache figures, even if they are 0', async () => {
    const { billed } = await play(withFiguresFrom(3), { requests: 6, cacheFrom: 4 });
    const [none, missed, written, read] = billed.slice(2);
    const saved = (at: typeof none): number => (at?.dollarsWithout ?? 0) - (at?.dollars ?? 0);
    expect(saved(none)).toBeCloseTo(((none?.removed ?? 0) * RATES.input) / 1e6, 5);
    // 0 is reported and nothing was cached before: neither prompt is read or written
    expect([missed?.read, missed?.write5m]).toEqual([0, 0]);
    expect(saved(missed)).toBeCloseTo(((missed?.removed ?? 0) * RATES.input) / 1e6, 5);
    expect(saved(written)).toBeCloseTo(((written?.removed ?? 0) * RATES.write) / 1e6, 5);
    const { removed = 0, removedNew = 0 } = read ?? {};
    expect(saved(read)).toBeCloseTo((removedNew * RATES.write + (removed - removedNew) * RATES.read) / 1e6, 3);
  });
});
