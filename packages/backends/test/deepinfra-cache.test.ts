import { describe, expect, it } from 'vitest';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { startProxy, type TestProxy } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';
import { deepinfraEnv, NOWHERE, prose, pruneText, startWithDeepinfra } from './pruning.ts';
import { type FakeService, hang, rerankAnswer, startReranker } from './services.ts';

const GOAL = 'how are refunds handled?';
const TEXT = prose(120);
const score = (_line: string, index: number): number => (index % 7) / 10;

class TestClock {
  #nowMs = Date.parse('2026-02-26T12:00:00Z');
  nowMs(): number {
    return this.#nowMs;
  }
  pass(ms: number): void {
    this.#nowMs += ms;
  }
}

async function withClock(reranker: FakeService, more: Readonly<Record<string, string>> = {}) {
  const clock = new TestClock();
  const proxy: TestProxy = await startProxy(NOWHERE, { env: deepinfraEnv(reranker, more), clock });
  return { clock, proxy };
}

describe('the cache of backend answers', () => {
  it('answers a repeated call from the cache, with the warning cache_hit', async () => {
    const reranker = await startReranker(score);
    const proxy = await startWithDeepinfra(reranker, { DEEPINFRA_MAX_DOCS: '500' });
    const first = await pruneText(proxy, TEXT, GOAL);
    const second = await pruneText(proxy, TEXT, GOAL);
    expect(reranker.calls).toHaveLength(1);
    expect(second.pruned_text).toBe(first.pruned_text);
    expect(second.prune_id).toBe(first.prune_id);
    expect(second.warnings).toEqual(['cache_hit']);
    expect(second.stats).toMatchObject({
      used_fallback: false,
      deepinfra_latency_ms: 0,
      deepinfra_cached: true,
      deepinfra_docs_scored: 120,
      deepinfra_http_status: 200,
    });
  });

  it('applies the limits of each call separately', async () => {
    // whole passages are noise, so that cutting them pays
    const reranker = await startReranker((_line, index) => (Math.floor(index / 20) % 2 === 0 ? 0.001 : 0.7));
    const proxy = await startWithDeepinfra(reranker, { DEEPINFRA_MAX_DOCS: '500' });
    const bold = await pruneText(proxy, TEXT, GOAL, { max_prune_ratio: 0.9 });
    const timid = await pruneText(proxy, TEXT, GOAL, { max_prune_ratio: 0.3 });
    expect(reranker.calls).toHaveLength(1);
    expect(timid.warnings).toContain('cache_hit');
    expect(bold.stats.pruned_ratio).toBeGreaterThan(0.3);
    expect(timid.stats.pruned_ratio).toBeLessThanOrEqual(0.3);
  });

  it('makes a new call for a different goal, text or source type', async () => {
    const reranker = await startReranker(score);
    const proxy = await startWithDeepinfra(reranker);
    await pruneText(proxy, TEXT, GOAL);
    await pruneText(proxy, TEXT, 'where are the vouchers printed?');
    await pruneText(proxy, prose(121), GOAL);
    await pruneText(proxy, TEXT, GOAL, {}, 'logs');
    expect(reranker.calls).toHaveLength(4);
  });

  it('forgets answers after their time to live', async () => {
    const reranker = await startReranker(score);
    const { clock, proxy } = await withClock(reranker, { MCP_PRUNER_CACHE_TTL_S: '10' });
    await pruneText(proxy, TEXT, GOAL);
    clock.pass(9_999);
    expect((await pruneText(proxy, TEXT, GOAL)).warnings).toContain('cache_hit');
    clock.pass(1);
    expect((await pruneText(proxy, TEXT, GOAL)).warnings).not.toContain('cache_hit');
    expect(reranker.calls).toHaveLength(2);
  });

  it('respects its limit of answers, and stores none if the limit or the lifetime is 0', async () => {
    const reranker = await startReranker(score);
    const small = await startWithDeepinfra(reranker, { MCP_PRUNER_CACHE_MAX_ITEMS: '1' });
    for (const goal of ['first goal', 'second goal', 'first goal']) await pruneText(small, TEXT, goal);
    expect(reranker.calls).toHaveLength(3);
    for (const name of ['MCP_PRUNER_CACHE_MAX_ENTRIES', 'MCP_PRUNER_CACHE_TTL_S']) {
      const none = await startWithDeepinfra(reranker, { [name]: '0' });
      const before = reranker.calls.length;
      await pruneText(none, TEXT, GOAL);
      await pruneText(none, TEXT, GOAL);
      expect(reranker.calls).toHaveLength(before + 2);
    }
  });

  it('does not remember failures', async () => {
    const reranker = await startReranker(score);
    const proxy = await startWithDeepinfra(reranker);
    reranker.respond = (res) => json(res, 503, { detail: 'overloaded' });
    expect((await pruneText(proxy, TEXT, GOAL)).stats).toMatchObject({ used_fallback: true });
    reranker.respond = (res, { body }) => {
      const { documents } = JSON.parse(body.toString('utf8')) as { documents: string[] };
      json(res, 200, rerankAnswer(documents.map(score)));
    };
    const again = await pruneText(proxy, TEXT, GOAL);
    expect(again.warnings).toEqual(['deepinfra_docs_truncated']);
    expect(again.stats).toMatchObject({ used_fallback: false, deepinfra_cached: false });
  });

  it('makes one call for identical simultaneous questions', async () => {
    const reranker = await startReranker(score);
    const waiting: (() => void)[] = [];
    reranker.respond = (res, { body }) => {
      const { documents } = JSON.parse(body.toString('utf8')) as { documents: string[] };
      waiting.push(() => json(res, 200, rerankAnswer(documents.map(score))));
    };
    const proxy = await startWithDeepinfra(reranker);
    const calls = [0.9, 0.9, 0.5].map((max_prune_ratio) => pruneText(proxy, TEXT, GOAL, { max_prune_ratio }));
    const impatient = await pruneText(proxy, TEXT, GOAL, { timeout_ms: 250 });
    expect(impatient.stats).toMatchObject({ used_fallback: true });
    await until(() => waiting.length > 0);
    for (const answer of waiting) answer();
    const [first, second, third] = await Promise.all(calls);
    expect(reranker.calls).toHaveLength(1);
    expect(first?.stats).toMatchObject({ used_fallback: false });
    expect(second?.pruned_text).toBe(first?.pruned_text);
    expect(third?.stats.pruned_ratio).toBeLessThanOrEqual(0.5);
  });

  it('cancels a call once no caller is waiting for it', async () => {
    const reranker = await startReranker(score);
    reranker.respond = hang;
    const proxy = await startWithDeepinfra(reranker);
    await pruneText(proxy, TEXT, GOAL, { timeout_ms: 200 });
    await until(() => reranker.calls[0]?.gone.aborted);
  });
});
