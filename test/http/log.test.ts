import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { chatBody, oneResult, toolTurn } from '../helpers/chat.ts';
import { completion, json, refusal, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { manualClock } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';
import { freePort, send } from '../helpers/wire.ts';

const LOG = serverLog(300);

describe('the log', () => {
  it('has one line per request, with its saving', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const answer = await proxy.chat(chatBody([...toolTurn('c2', 'ls', {}, 'a.ts'), ...oneResult(LOG)]));
    await answer.text();
    await (await proxy.chat(chatBody(oneResult('short'), { stream: true, model: 'other' }))).text();
    const [first, second, ...more] = await proxy.requestLines(2);
    expect(more).toEqual([]);
    expect(first).toMatchObject({
      level: 'info',
      requestId: answer.headers.get('x-mcp-pruner-request-id'),
      model: 'gpt-test',
      stream: false,
      messages: 6,
      candidates: 1,
      pruned: 1,
      linesBefore: 300,
      promptTokens: 1200,
      cachedTokens: 1024,
      completionTokens: 7,
      status: 200,
    });
    expect(first?.conversationId).toMatch(/^[g-v]{12}-[0-9a-f]{32}$/);
    expect(first?.pruneIds).toEqual([expect.stringMatching(/^prn_[0-9A-Z]{12}$/)]);
    expect(Number(first?.tokensBefore) - Number(first?.tokensAfter)).toBe(first?.tokensSaved);
    expect(first?.tokensSaved).toBe(Number(answer.headers.get('x-mcp-pruner-tokens-saved')));
    for (const time of ['pruneMs', 'firstByteMs', 'totalMs']) expect(first?.[time]).toEqual(expect.any(Number));
    expect(first?.new).toEqual([
      expect.objectContaining({ tool: 'bash', linesBefore: 300, pruneId: expect.stringMatching(/^prn_/) }),
    ]);
    expect(second).toMatchObject({
      model: 'other',
      stream: true,
      candidates: 0,
      pruned: 0,
      tokensSaved: 0,
      cachedTokens: 1024,
    });
  });

  it('distinguishes new cuts from those that every later request repeats', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    await (await proxy.chat(chatBody(oneResult(LOG)))).text();
    await (
      await proxy.chat(chatBody([...oneResult(LOG), ...toolTurn('c2', 'bash', { command: 'x' }, serverLog(300, 9))]))
    ).text();
    const [, line] = await proxy.requestLines(2);
    expect(line).toMatchObject({ candidates: 2, pruned: 2 });
    expect(line?.new).toHaveLength(1);
  });

  it('reads the provider’s usage from a compressed answer too', async () => {
    const usage = { prompt_tokens: 11, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 3 } };
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(200, { 'content-encoding': 'gzip' });
      res.end(gzipSync(JSON.stringify({ choices: [{ text: 'a "usage": {' }], usage })));
    });
    const proxy = await startProxy(upstream);
    await (await proxy.chat(chatBody([]))).text();
    expect((await proxy.requestLines(1))[0]).toMatchObject({ promptTokens: 11, cachedTokens: 3, completionTokens: 2 });
  });

  it('names upstream failures', async () => {
    const proxy = await startProxy(`http://127.0.0.1:${await freePort()}/v1`);
    await (await proxy.chat(chatBody([]))).text();
    expect((await proxy.requestLines(1))[0]).toMatchObject({
      level: 'warn',
      status: 502,
      end: 'failed',
      upstreamError: 'refused',
    });
  });

  it('stays short, whatever names a client sends', async () => {
    const upstream = await startUpstream(completion());
    const proxy = await startProxy(upstream);
    const long = 'n'.repeat(200_000);
    await (await proxy.chat(chatBody(oneResult(LOG, { tool: long }), { model: long }))).text();
    await proxy.requestLines(1);
    expect((await proxy.logText()).length).toBeLessThan(10_000);
    expect((await (await fetch(`${proxy.url}/metrics`)).text()).length).toBeLessThan(50_000);
  });
});

describe('no text and no credential', () => {
  const SECRETS = {
    key: 'sk-planted-credential-1',
    cookie: 'session=planted-credential-2',
    query: 'planted-credential-3',
    system: 'planted text one',
    user: 'planted text two',
    result: 'planted text three',
    argument: 'planted text four',
    answer: 'planted text five',
    broken: 'planted text six',
    embedding: 'planted text seven',
    field: 'planted-text-eight',
  };

  it('appears in the log, the metrics, the health report or the events, whatever happens', async () => {
    let status = 200;
    const upstream = await startUpstream((request, res, index) => {
      if (request.url.includes('embeddings')) return json(res, 200, { text: SECRETS.embedding });
      if (status !== 200) return refusal(status, SECRETS.answer)(request, res, index);
      return completion(SECRETS.answer)(request, res, index);
    });
    const proxy = await startProxy(upstream, {
      env: { MCP_PRUNER_LOG_LEVEL: 'trace', MCP_PRUNER_AUTH_TOKEN: 'planted-credential-9' },
    });
    const messages = [
      { role: 'system', content: SECRETS.system },
      { role: 'user', content: `${SECRETS.user}: why does the payment fail for some of the customers?` },
      ...toolTurn(
        'c1',
        'bash',
        { command: `echo ${SECRETS.argument}` },
        LOG.replaceAll('INFO', `INFO ${SECRETS.result}`),
        SECRETS.answer,
      ),
    ];
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${SECRETS.key}`,
      'x-api-key': SECRETS.key,
      cookie: SECRETS.cookie,
      'x-custom': SECRETS.field,
    };
    const post = async (path: string, body: Buffer | string): Promise<void> => {
      await send(`${proxy.url}${path}?key=${SECRETS.query}`, { method: 'POST', headers, body }).catch(() => {});
    };
    const body = chatBody(messages, { user: SECRETS.field, metadata: { note: SECRETS.field } });
    await post('/v1/chat/completions', body);
    await post('/v1/chat/completions', chatBody(messages, { stream: true }));
    await post('/v1/chat/completions', `{"messages":[{"content":"${SECRETS.broken}`);
    await post('/v1/chat/completions', `{"messages": ${SECRETS.broken}}`);
    await post('/v1/embeddings', SECRETS.embedding);
    for (status of [400, 401, 500])
      await post('/v1/chat/completions', chatBody([...messages, { role: 'user', content: `${status}` }]));
    const rpc = (params: object): Promise<unknown> =>
      fetch(`${proxy.url}/rpc?key=${SECRETS.query}`, {
        method: 'POST',
        headers: { authorization: 'Bearer planted-credential-9' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      });
    await rpc({
      name: 'prune_text',
      arguments: {
        text: LOG.replaceAll('INFO', SECRETS.result),
        goal_hint: SECRETS.user,
        source_type: 'logs',
        options: {},
      },
    });
    await rpc({ name: 'recover_text', arguments: { prune_id: SECRETS.field } });
    await fetch(`${proxy.url}/rpc`, { method: 'POST', headers: { authorization: `Bearer ${SECRETS.key}` }, body: '{' });
    await upstream.close();
    await post('/v1/chat/completions', body);
    await post('/v1/embeddings', SECRETS.embedding);

    await proxy.requestLines(8);
    const metrics = await (
      await fetch(`${proxy.url}/metrics`, { headers: { authorization: 'Bearer planted-credential-9' } })
    ).text();
    const health = await (await fetch(`${proxy.url}/health`)).text();
    await proxy.stop();
    const store = openSqliteStore({
      path: proxy.dbPath,
      clock: manualClock(),
      ttlMs: 1,
      maxBytes: 0,
      maxEvents: 0,
      readonly: true,
    });
    const events = await store.events({ fromSeq: 0, limit: 1_000 });
    const usage = await store.ledger.sums({ sinceDay: '2000-01-01', slice: 'use' });
    await store.close();
    expect(events.length).toBeGreaterThan(8);
    expect(usage.length).toBeGreaterThan(0);
    for (const text of [await proxy.logText(), metrics, health, JSON.stringify(events), JSON.stringify(usage)]) {
      expect(text.length).toBeGreaterThan(50);
      expect(text).not.toMatch(/planted/);
      expect(text).not.toContain('GET /v1/items');
    }
  });
});

describe('/metrics', () => {
  it('counts requests', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    for (let i = 0; i < 3; i++) await (await proxy.chat(chatBody(oneResult(LOG)))).text();
    await (await proxy.chat('not json')).text();
    await proxy.requestLines(4);
    const answer = await fetch(`${proxy.url}/metrics`);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
    const page = await answer.text();
    const value = (start: string): number =>
      Number(
        page
          .split('\n')
          .find((line) => line.startsWith(start))
          ?.split(' ')
          .at(-1),
      );
    const names = page.match(/^# TYPE (\S+)/gm)?.map((line) => line.slice(7)) ?? [];
    expect(names.length).toBeGreaterThan(8);
    expect(value('mcp_pruner_store_up')).toBe(1);
    expect(page).toContain('body_not_understood');
    expect(page).toMatch(/mcp_pruner_requests_total\{[^}]*chat_completions[^}]*\} [34]/);
  });
});
