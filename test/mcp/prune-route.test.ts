import { gzipSync } from 'node:zlib';
import { SwePrunerClient } from '@mcp-pruner/stdio/swe-pruner-client.ts';
import { describe, expect, it } from 'vitest';
import { deepinfraEnv, NOWHERE } from '../../packages/backends/test/pruning.ts';
import { hang, rerankAnswer, startReranker, startSwePruner } from '../../packages/backends/test/services.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { json } from '../helpers/fake-upstream.ts';
import { markersIn, rebuild } from '../helpers/markers.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { PRUNE_OPTIONS } from '../helpers/prune-options.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

const LOG = serverLog(300);
const QUERY = 'Why did the payment fail?';

function post(proxy: TestProxy, body: string | Buffer, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${proxy.url}/prune`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
}

type Answer = Readonly<Record<string, unknown>> & { readonly pruned_code: string };

async function prune(proxy: TestProxy, code: string, query: string, more: object = {}): Promise<Answer> {
  const response = await post(proxy, JSON.stringify({ code, query, ...more }));
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

describe('POST /prune', () => {
  it('answers in the format of a swe-pruner service, with markers that can be recovered', async () => {
    const proxy = await startProxy(NOWHERE);
    const answer = await prune(proxy, LOG, QUERY, { threshold: 0.5, always_keep_first_frags: false });
    expect(answer).toMatchObject({
      score: expect.any(Number),
      token_scores: [],
      kept_frags: expect.any(Array),
      origin_token_cnt: expect.any(Number),
      left_token_cnt: expect.any(Number),
      model_input_token_cnt: expect.any(Number),
      error_msg: null,
      prune_id: expect.stringMatching(/^prn_/),
      stats: { used_fallback: false },
      warnings: [],
    });
    expect(answer.left_token_cnt).toBeLessThan(Number(answer.origin_token_cnt));
    expect(markersIn(answer.pruned_code).length).toBeGreaterThan(0);
    expect(await rebuild(answer.pruned_code, proxy)).toBe(LOG);
    const lines = LOG.split('\n');
    const kept = (answer.kept_frags as number[]).map((number) => lines[number - 1]);
    expect(kept).toEqual(answer.pruned_code.split('\n').filter((line) => line !== '' && !line.startsWith('⟦PRUNÉ')));
  });

  it('recognises the kind of text it receives', async () => {
    const proxy = await startProxy(NOWHERE);
    const { pruned_code } = await prune(proxy, sourceFile(40), 'how is the refund in loadRefund6 counted?');
    for (const line of sourceFile(40)
      .split('\n')
      .filter((text) => text.startsWith('import '))) {
      expect(pruned_code).toContain(line);
    }
  });

  it('serves the client of the stdio tools', async () => {
    const proxy = await startProxy(NOWHERE);
    const client = new SwePrunerClient({ url: `${proxy.url}/prune`, timeoutMs: 10_000, warnings: [] });
    afterwards(() => client.close());
    const pruned = await client.prune(LOG, QUERY);
    expect(pruned.length).toBeLessThan(LOG.length);
    expect(await rebuild(pruned, proxy)).toBe(LOG);
    expect(await client.prune('', QUERY)).toBe('');
    expect(await client.prune('a short text', '')).toBe('a short text');
  });

  it('returns a text whole if it cannot be pruned, with the reason', async () => {
    const proxy = await startProxy(NOWHERE, { env: { MCP_PRUNER_MAX_INPUT_CHARS: '1000' } });
    const answer = await prune(proxy, LOG, QUERY);
    expect(answer).toMatchObject({ pruned_code: LOG, warnings: ['input_too_large'], stats: { used_fallback: true } });
    expect(answer.kept_frags).toEqual([]);
  });

  it('accepts a compressed body, and one without a content type', async () => {
    const proxy = await startProxy(NOWHERE);
    const body = JSON.stringify({ code: LOG, query: QUERY });
    for (const response of [
      await post(proxy, gzipSync(body), { 'content-encoding': 'gzip' }),
      await fetch(`${proxy.url}/prune`, { method: 'POST', headers: { 'content-type': '' }, body }),
    ]) {
      expect(response.status).toBe(200);
      expect(((await response.json()) as Answer).pruned_code.length).toBeLessThan(LOG.length);
    }
  });

  it.each([
    ['no JSON', 'code=1', 400, 'invalid_json'],
    ['nothing', '', 400, 'invalid_json'],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400, 'invalid_json'],
    ['a list', '[]', 422, 'invalid_request'],
    ['null', 'null', 422, 'invalid_request'],
    ['no query', '{"code":"x"}', 422, 'invalid_request'],
    ['code that is a number', '{"code":7,"query":"q"}', 422, 'invalid_request'],
  ])('refuses %s', async (_what, body, status, type) => {
    const response = await post(await startProxy(NOWHERE), body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { type, message: expect.any(String) } });
  });

  it('lists each invalid field under detail, as a swe-pruner service does', async () => {
    const response = await post(await startProxy(NOWHERE), '{"code":7}');
    const { detail, error } = (await response.json()) as { detail: { loc: string[] }[]; error: { message: string } };
    expect(detail.map(({ loc }) => loc)).toEqual([
      ['body', 'code'],
      ['body', 'query'],
    ]);
    expect(error.message).toContain('query');
  });

  it('refuses other methods, other encodings, broken compression, foreign hosts and pages', async () => {
    const proxy = await startProxy(NOWHERE);
    const body = JSON.stringify({ code: 'x', query: 'y' });
    const got = await fetch(`${proxy.url}/prune`);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await post(proxy, body, { 'content-encoding': 'rot13' })).status).toBe(415);
    expect((await post(proxy, body, { 'content-encoding': 'gzip' })).status).toBe(400);
    expect((await post(proxy, body, { origin: 'https://evil.example' })).status).toBe(403);
  });

  it('requires the token if one is set', async () => {
    const proxy = await startProxy(NOWHERE, { env: { MCP_PRUNER_AUTH_TOKEN: 'a-long-enough-secret' } });
    const body = JSON.stringify({ code: LOG, query: QUERY });
    expect((await post(proxy, body)).status).toBe(401);
    expect((await post(proxy, body, { authorization: 'Bearer a-long-enough-secret' })).status).toBe(200);
  });

  it('calls the cloud backend if that is on, and cancels the call when the client leaves', async () => {
    const reranker = await startReranker(() => 0.5);
    const proxy = await startProxy(NOWHERE, { env: deepinfraEnv(reranker) });
    expect(await prune(proxy, LOG, QUERY)).toMatchObject({ stats: { backend: 'deepinfra', used_fallback: false } });
    reranker.respond = hang;
    const leaving = new AbortController();
    const body = JSON.stringify({ code: LOG, query: 'another question' });
    const left = fetch(`${proxy.url}/prune`, { method: 'POST', body, signal: leaving.signal }).catch(() => null);
    await until(() => reranker.calls[1]);
    leaving.abort();
    await left;
    await until(() => reranker.calls[1]?.gone.aborted);
  });

  it('never calls another swe-pruner, because that could be this server itself', async () => {
    const service = await startSwePruner(() => true);
    const proxy = await startProxy(NOWHERE, { env: { MCP_PRUNER_SWE_PRUNER_URL: service.url } });
    const { pruned_code } = await prune(proxy, LOG, QUERY);
    expect(pruned_code.length).toBeLessThan(LOG.length);
    expect(service.calls).toHaveLength(0);
  });

  it('can be the backend of another proxy', async () => {
    const pruner = await startProxy(NOWHERE);
    const proxy = await startProxy(NOWHERE, { env: { MCP_PRUNER_SWE_PRUNER_URL: `${pruner.url}/prune` } });
    const { result } = await proxy.call('prune_text', {
      text: LOG,
      goal_hint: QUERY,
      source_type: 'logs',
      options: PRUNE_OPTIONS,
    });
    const answer = JSON.parse(result?.content[0]?.text ?? '') as { warnings: string[]; stats: object };
    expect(answer.warnings).toEqual([]);
    expect(answer.stats).toMatchObject({ backend: 'swe-pruner', used_fallback: false, swe_pruner_http_status: 200 });
  });

  it('is counted in the metrics', async () => {
    const proxy = await startProxy(NOWHERE);
    await prune(proxy, LOG, QUERY);
    const page = await (await fetch(`${proxy.url}/metrics`)).text();
    expect(page).toMatch(/mcp_pruner_prunes_total(?:\{[^}]*\})? 1\b/);
  });
});

describe('a rerank endpoint that repeats the key', () => {
  it('does not leak the key into an answer or the log', async () => {
    const reranker = await startReranker(() => 0.5);
    reranker.respond = (res, { headers, body }) => {
      const { documents } = JSON.parse(body.toString('utf8')) as { documents: string[] };
      json(res, 200, { ...rerankAnswer(documents.map(() => 0.5)), echo: headers });
    };
    const proxy = await startProxy(NOWHERE, { env: deepinfraEnv(reranker, { MCP_PRUNER_LOG_LEVEL: 'trace' }) });
    const answer = await prune(proxy, LOG, QUERY);
    const everything = JSON.stringify(answer) + (await proxy.logText());
    expect(everything).not.toContain('sk-deepinfra');
  });
});
