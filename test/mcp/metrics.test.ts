import { describe, expect, it } from 'vitest';
import { NOWHERE, pruneText } from '../../packages/backends/test/pruning.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { PRUNE_OPTIONS } from '../helpers/prune-options.ts';
import { serverLog } from '../helpers/texts.ts';

const LOG = serverLog(300);

/** What `/metrics` says, by name and labels. */
async function metricsOf(proxy: TestProxy): Promise<Map<string, number>> {
  const page = await (await fetch(`${proxy.url}/metrics`)).text();
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

describe('the metrics of texts pruned by tools', () => {
  it('count calls, cuts, and the tokens before and after', async () => {
    const proxy = await startProxy(NOWHERE);
    const { stats } = await pruneText(proxy, LOG, 'the failing payment', {}, 'logs');
    await pruneText(proxy, 'one\ntwo\n', 'two', { min_keep_lines: 0 });
    const metrics = await metricsOf(proxy);
    expect(metrics.get('mcp_pruner_candidates_total')).toBe(2);
    expect(metrics.get('mcp_pruner_prunes_total')).toBe(1);
    const before = metrics.get('mcp_pruner_tokens_before_total') ?? 0;
    const after = metrics.get('mcp_pruner_tokens_after_total') ?? 0;
    expect(before).toBeGreaterThan(Number(stats.tokens_est_before));
    expect(before - after).toBeCloseTo(Number(stats.tokens_est_before) - Number(stats.tokens_est_after), 3);
    expect(metrics.get('mcp_pruner_tokens_saved_total')).toBeCloseTo(before - after, 3);
    expect(metrics.get('mcp_pruner_pruning_seconds_count')).toBe(2);
  });

  it('count fallbacks by their reason', async () => {
    const proxy = await startProxy(NOWHERE, { env: { MCP_PRUNER_MAX_INPUT_CHARS: '5000' } });
    expect((await pruneText(proxy, LOG, 'payment')).warnings).toEqual(['input_too_large']);
    expect((await metricsOf(proxy)).get('mcp_pruner_fallbacks_total{reason="input_too_large"}')).toBe(1);
  });

  it('count each text of a batch once, and a text of POST /prune once', async () => {
    const proxy = await startProxy(NOWHERE, { env: { MCP_PRUNER_ENABLE: 'bulk' } });
    const options = { ...PRUNE_OPTIONS, timeout_ms: 9_000 };
    const entry = { text: LOG, goal_hint: 'payment', source_type: 'logs', options };
    const { error } = await proxy.call('prune_batch', { entries: [entry, { ...entry, goal_hint: 'cache' }] });
    expect(error).toBeUndefined();
    const body = JSON.stringify({ code: LOG, query: 'payment' });
    await fetch(`${proxy.url}/prune`, { method: 'POST', body });
    expect((await metricsOf(proxy)).get('mcp_pruner_candidates_total')).toBe(3);
  });
});
