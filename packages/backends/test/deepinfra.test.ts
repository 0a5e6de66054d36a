import { describe, expect, it } from 'vitest';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { settingsOf, startProxy } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';
import { cutLines, deepinfraEnv, NOWHERE, prose, pruneText, startWithDeepinfra } from './pruning.ts';
import { hang, KEY, type RerankCall, rerankAnswer, startReranker } from './services.ts';

const GOAL = 'how are refunds handled?';
const TEXT = prose(200);
const relevant = (line: string): number => (/^Entry 1[56]\d /.test(line) ? 0.97 : 0.01);

describe('prune_text with the cloud backend', () => {
  it('sends lines and goal with the key, keeps the best lines and reports what it did', async () => {
    const reranker = await startReranker(relevant);
    const proxy = await startWithDeepinfra(reranker, { DEEPINFRA_MAX_DOCS: '500' });

    const pruned = await pruneText(proxy, TEXT, GOAL);

    const [call] = reranker.bodies<RerankCall>();
    expect(call?.documents).toEqual(TEXT.trimEnd().split('\n'));
    expect(new Set(call?.queries)).toEqual(new Set([GOAL]));
    expect(call?.queries).toHaveLength(200);
    expect(reranker.calls[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    const cut = cutLines(pruned);
    for (let line = 150; line <= 169; line++) expect(cut).not.toContain(line);
    expect(cut.size).toBeGreaterThan(100);
    expect(pruned.warnings).toEqual([]);
    const { tokens_est_before, tokens_est_after } = pruned.stats as Record<string, number>;
    expect(pruned.stats).toMatchObject({
      used_fallback: false,
      backend: 'deepinfra',
      deepinfra_latency_ms: expect.any(Number),
      deepinfra_docs_scored: 200,
      deepinfra_docs_total: 200,
      deepinfra_http_status: 200,
      deepinfra_cached: false,
      tokens_saved_est: (tokens_est_before ?? 0) - (tokens_est_after ?? 0),
      cost_estimated_usd: expect.any(Number),
    });
    expect(pruned.stats.cost_estimated_usd).toBeGreaterThan(0);
  });

  it('can also be named cloud', () => {
    expect(settingsOf({ KIMI_PRUNING_BACKEND: 'cloud' }).backend).toBe('deepinfra');
  });

  it('respects the limits, whatever the scores are', async () => {
    const reranker = await startReranker(() => 0.001);
    reranker.respond = (res, request) => {
      const { documents } = JSON.parse(request.body.toString('utf8')) as RerankCall;
      json(res, 200, rerankAnswer(documents.map((_, i) => (i === 0 ? 1 : 0))));
    };
    const proxy = await startWithDeepinfra(reranker);
    for (const [max_prune_ratio, min_keep_lines] of [
      [0.5, 0],
      [0.95, 120],
      [1, 0],
    ] as const) {
      const { stats } = await pruneText(proxy, TEXT, GOAL, { max_prune_ratio, min_keep_lines });
      expect(stats.pruned_ratio).toBeLessThanOrEqual(max_prune_ratio);
      expect(stats.kept_lines).toBeGreaterThanOrEqual(min_keep_lines);
    }
  });

  it('can restore every line that it removed', async () => {
    const proxy = await startWithDeepinfra(await startReranker(relevant));
    const { prune_id, annotations } = await pruneText(proxy, TEXT, GOAL);
    expect(annotations.length).toBeGreaterThan(0);
    expect(await proxy.recover(prune_id, 1, 200)).toBe(TEXT.trimEnd());
  });

  it('makes no call unless it is switched on, whatever key and address are set', async () => {
    const reranker = await startReranker(relevant);
    const env = deepinfraEnv(reranker, { KIMI_PRUNING_BACKEND: 'heuristic' });
    const proxy = await startProxy(NOWHERE, { env });
    const pruned = await pruneText(proxy, TEXT, GOAL);
    expect(reranker.calls).toHaveLength(0);
    expect(pruned.stats).not.toHaveProperty('backend');
    expect(pruned.stats).not.toHaveProperty('cost_estimated_usd');
  });

  it('sends nothing without a goal, or if the limits leave the text whole', async () => {
    const reranker = await startReranker(relevant);
    const proxy = await startWithDeepinfra(reranker, { MCP_PRUNER_MAX_INPUT_CHARS: '20000' });
    const unmet = await pruneText(proxy, TEXT, GOAL, { min_keep_lines: 500 });
    expect(unmet).toMatchObject({ pruned_text: TEXT, warnings: ['constraints_unmet'], stats: { used_fallback: true } });
    const untouched = await pruneText(proxy, TEXT, GOAL, { max_prune_ratio: 0 });
    expect(untouched).toMatchObject({ pruned_text: TEXT, warnings: [], stats: { used_fallback: false } });
    const tooLarge = await pruneText(proxy, prose(900), GOAL);
    expect(tooLarge).toMatchObject({ warnings: ['input_too_large'], stats: { used_fallback: true } });
    const aimless = await pruneText(proxy, TEXT, ' ');
    expect(aimless).toMatchObject({ warnings: ['deepinfra_no_goal'], stats: { used_fallback: true } });
    expect(reranker.calls).toHaveLength(0);
  });

  it('accepts one list of scores for each query, and logits as scores', async () => {
    const reranker = await startReranker(relevant);
    const proxy = await startWithDeepinfra(reranker, { DEEPINFRA_MAX_DOCS: '500', MCP_PRUNER_CACHE_TTL_S: '0' });
    const shapes: ((scores: number[]) => unknown[])[] = [
      (scores) => [scores],
      (scores) => scores.map(() => scores),
      (scores) => scores.map((score) => [score]),
      (scores) => scores.map((score) => (score > 0.5 ? 6.5 : -7)),
    ];
    for (const shape of shapes) {
      reranker.respond = (res, request) => {
        const { documents } = JSON.parse(request.body.toString('utf8')) as RerankCall;
        json(res, 200, rerankAnswer(shape(documents.map(relevant))));
      };
      const pruned = await pruneText(proxy, TEXT, GOAL);
      expect(pruned.warnings).toEqual([]);
      const cut = cutLines(pruned);
      for (let line = 150; line <= 169; line++) expect(cut).not.toContain(line);
    }
  });

  it('cancels the call when the client leaves', async () => {
    const reranker = await startReranker(relevant);
    reranker.respond = hang;
    const proxy = await startWithDeepinfra(reranker);
    const leaving = new AbortController();
    const call = fetch(`${proxy.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      signal: leaving.signal,
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'prune_text',
          arguments: {
            text: TEXT,
            goal_hint: GOAL,
            source_type: 'docs',
            options: {
              max_prune_ratio: 0.5,
              min_keep_lines: 1,
              timeout_ms: 60_000,
              annotate_lines: false,
              include_markers: true,
            },
          },
        },
      }),
    }).catch(() => null);
    await until(() => reranker.calls[0]);
    leaving.abort();
    await call;
    await until(() => reranker.calls[0]?.gone.aborted);
  });
});

describe('a text with more lines than may be sent to the backend', () => {
  const topics = { 181: 'Refunds are handled by the ledger.', 182: 'A refund may take a week.' };

  it('has its most promising lines scored instead of its first lines, and reports it', async () => {
    const reranker = await startReranker(() => 0.6);
    const proxy = await startWithDeepinfra(reranker, { DEEPINFRA_MAX_DOCS: '16' });
    const text = prose(300, topics);
    const pruned = await pruneText(proxy, text, GOAL);
    const [call] = reranker.bodies<RerankCall>();
    expect(call?.documents).toHaveLength(16);
    expect(call?.documents).toEqual(expect.arrayContaining(Object.values(topics)));
    const sent = call?.documents.map((line) => text.split('\n').indexOf(line)) ?? [];
    expect([...sent].sort((a, b) => a - b)).toEqual(sent);
    expect(pruned.warnings).toEqual(['deepinfra_docs_truncated']);
    expect(pruned.stats).toMatchObject({
      used_fallback: false,
      deepinfra_docs_scored: 16,
      deepinfra_docs_total: 300,
    });
  });

  it('is not decided by the few scored lines: the others are ranked as without the backend', async () => {
    const text = prose(300, topics);
    const proxy = await startWithDeepinfra(await startReranker((line) => (line.startsWith('Entry') ? 0.9 : 0.001)), {
      DEEPINFRA_MAX_DOCS: '4',
    });
    const plain = await startProxy(NOWHERE);
    const options = { max_prune_ratio: 0.8 };
    const scored = cutLines(await pruneText(proxy, text, GOAL, options));
    const alone = cutLines(await pruneText(plain, text, GOAL, options));
    expect(alone.size).toBeGreaterThan(0);
    expect(scored.size).toBeLessThanOrEqual(240);
    const both = [...scored].filter((line) => alone.has(line));
    expect(both.length).toBeGreaterThan(0.8 * alone.size);
  });

  it('does not spend calls on blank lines or lines without words', async () => {
    const reranker = await startReranker(relevant);
    const proxy = await startWithDeepinfra(reranker);
    const text = `${'-----\n\nA line of words that says something.\n'.repeat(10)}`;
    await pruneText(proxy, text, GOAL);
    expect(reranker.bodies<RerankCall>()[0]?.documents).toEqual(
      Array.from({ length: 10 }, () => 'A line of words that says something.'),
    );
  });
});
