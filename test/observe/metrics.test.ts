import { describe, expect, it } from 'vitest';
import { createMetrics, type PruningSample, type RequestSample } from '../../src/observe/metrics.ts';

const sizes = { prunes: 3, snapshots: 2, bytes: 4096 };

function metricsOf(storeSizes = async () => sizes) {
  return createMetrics({ version: '1.2.3', storeSizes });
}

function pruning(given: Partial<PruningSample> = {}): PruningSample {
  return { candidates: 2, pruned: 1, tokensBefore: 1000, tokensAfter: 400, elapsedMs: 5, fallbacks: [], ...given };
}

function request(given: Partial<RequestSample> = {}): RequestSample {
  return {
    route: 'chat_completions',
    status: 200,
    model: 'gpt-x',
    firstByteMs: 40,
    upstreamError: null,
    pruning: pruning(),
    ...given,
  };
}

describe('the metrics', () => {
  it('count requests, candidates, prunes, tokens, times and fallbacks', async () => {
    const metrics = metricsOf();
    metrics.request(request());
    metrics.request(request({ pruning: pruning({ fallbacks: ['timeout', 'locked'] }) }));
    metrics.request(request({ status: 502, upstreamError: 'refused', firstByteMs: null }));
    const { text, contentType } = await metrics.page();
    expect(contentType).toMatch(/^text\/plain/);
    for (const line of [
      'mcp_pruner_requests_total{route="chat_completions",status="200",model="gpt-x"} 2',
      'mcp_pruner_requests_total{route="chat_completions",status="502",model="gpt-x"} 1',
      'mcp_pruner_candidates_total 6',
      'mcp_pruner_prunes_total 3',
      'mcp_pruner_tokens_before_total 3000',
      'mcp_pruner_tokens_after_total 1200',
      'mcp_pruner_tokens_saved_total 1800',
      'mcp_pruner_fallbacks_total{reason="timeout"} 1',
      'mcp_pruner_fallbacks_total{reason="locked"} 1',
      'mcp_pruner_upstream_errors_total{reason="refused"} 1',
      'mcp_pruner_pruning_seconds_count 3',
      'mcp_pruner_first_byte_seconds_count 2',
      'mcp_pruner_build_info{version="1.2.3"} 1',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
  });

  it('show the size of the store at the time of the scrape', async () => {
    let bytes = 1;
    const metrics = metricsOf(async () => ({ ...sizes, bytes: bytes++ }));
    expect((await metrics.page()).text).toContain('mcp_pruner_store_bytes 1\n');
    const { text } = await metrics.page();
    expect(text).toContain('mcp_pruner_store_bytes 2\n');
    expect(text).toContain('mcp_pruner_store_prunes 3\n');
    expect(text).toContain('mcp_pruner_store_up 1\n');
  });

  it('can be scraped while the store is down', async () => {
    const metrics = metricsOf(async () => {
      throw new Error('locked');
    });
    expect((await metrics.page()).text).toContain('mcp_pruner_store_up 0\n');
  });

  it('have the configured labels, each with a bounded number of values', async () => {
    const metrics = createMetrics({
      version: '1',
      storeSizes: async () => sizes,
      labels: ['project', 'key'],
      maxValues: 2,
      gauges: [{ name: 'waiting', help: 'What waits.', read: () => 7 }],
    });
    const bill = { model: 'm', dollars: 2, dollarsWithout: 3, regretDollars: 0, miss: null, missTokens: 0 };
    for (const project of ['a', 'b', 'c']) {
      metrics.request(request({ project, key: 'key_1' }));
      metrics.billed({ ...bill, missDollars: null, project, key: 'key_1' });
    }
    const { text } = await metrics.page();
    for (const line of [
      'mcp_pruner_dollars_total{project="a",key="key_1"} 2',
      'mcp_pruner_dollars_total{project="other",key="key_1"} 2',
      'mcp_pruner_requests_total{route="chat_completions",status="200",project="b",key="key_1"} 1',
      'mcp_pruner_waiting 7',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
  });

  it('stay bounded in size, whatever names clients send', async () => {
    const metrics = metricsOf();
    for (let i = 0; i < 1000; i++) {
      metrics.request(request({ model: `model-${i}"\n{${'x'.repeat(500)}`, upstreamError: `reason-${i}` }));
    }
    const { text } = await metrics.page();
    expect(text.match(/^mcp_pruner_requests_total\{/gm)?.length).toBeLessThanOrEqual(51);
    expect(text.match(/^mcp_pruner_upstream_errors_total\{/gm)?.length).toBeLessThanOrEqual(51);
    expect(text).toMatch(/requests_total\{.*model="other"\} 950/);
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThan(200);
  });

  it('ignore invalid values', async () => {
    const metrics = metricsOf();
    metrics.request(
      request({ status: 0, firstByteMs: Number.NaN, pruning: pruning({ tokensBefore: -1, elapsedMs: Number.NaN }) }),
    );
    metrics.pruning(pruning({ candidates: Number.POSITIVE_INFINITY }));
    const { text } = await metrics.page();
    expect(text).toContain('status="none"');
    expect(text).toContain('mcp_pruner_candidates_total 2\n');
  });

  it('belong to one server: another server in the same process has separate counts', async () => {
    const one = metricsOf();
    one.request(request());
    expect((await metricsOf().page()).text).not.toContain('mcp_pruner_requests_total{');
  });

  it('count pruning that was requested outside the proxy', async () => {
    const metrics = metricsOf();
    metrics.pruning(pruning());
    expect((await metrics.page()).text).toContain('mcp_pruner_tokens_saved_total 600\n');
  });

  it('include the memory and CPU time of the process', async () => {
    const { text } = await metricsOf().page();
    expect(text).toMatch(/^process_resident_memory_bytes [1-9]\d+$/m);
    expect(text).toMatch(/^process_cpu_seconds_total [\d.]+$/m);
  });
});
