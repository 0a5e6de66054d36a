import { markedRun } from '@mcp-pruner/agents/run/mark.ts';
import { sentenceOf, summaryOf } from '@mcp-pruner/agents/run/summary.ts';
import { describe, expect, it } from 'vitest';
import { newKey, onFile, startTeam } from '../../packages/team/test/team.ts';
import { figuresOfRun } from '../../src/app/run-figures.ts';
import type { RunFigures } from '../../src/core/ports/run-figures.ts';
import { type CountedRun, RunBook } from '../../src/proxy/report/run-book.ts';
import { chatBody } from '../helpers/chat.ts';
import { startSocketUpstream } from '../helpers/fake-socket-upstream.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { messagesBody, oneCall, type WireMessage } from '../helpers/messages.ts';
import { startProxy } from '../helpers/proxy.ts';
import { openSocket } from '../helpers/socket-client.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';
import { send } from '../helpers/wire.ts';

const USAGE = { input_tokens: 20_000, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 100 };
/** Claude Opus 5: 5 dollars for a million of input, 25 for one of output. */
const DOLLARS = (20_000 * 5 + 100 * 25) / 1e6;

async function stage(env: Record<string, string> = {}) {
  const upstream = await startUpstream((_request, res) => {
    const body = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-5', usage: USAGE };
    json(res, 200, { ...body, content: [{ type: 'text', text: 'Done.' }] });
  });
  const proxy = await startProxy(upstream, { env });
  const ask = async (base: string, messages: readonly WireMessage[]): Promise<void> => {
    const body = new Uint8Array(messagesBody(messages, { model: 'claude-opus-5' }));
    await (await fetch(`${base}/v1/messages`, { method: 'POST', body })).text();
  };
  const figures = async (id: string) => (await (await fetch(`${proxy.url}/run/${id}`)).json()) as RunFigures;
  return { upstream, proxy, ask, figures };
}

const FIGURES: RunFigures = {
  ...{ requests: 7, failed: 0, open: 0, cuts: 1, tokens: 7_149, removed: 6_402, shadow: false, largest: 'p_1' },
  ...{ conversation: 'c1', leftWhole: {}, dollars: 0.28, dollarsWithout: 0.31, limits: [] },
};

/** A proxy that requires neither token nor key. */
const open = (url: string) => ({ url, token: null, key: null });

const log = oneCall(serverLog(300, 1));
const small = oneCall('ok');

describe('the figures of a run', () => {
  it('include its dollars once another process on the store has billed it, if the caller waits', async () => {
    const book = new RunBook();
    book.begin('r', 0)();
    const counted: CountedRun = { ...FIGURES, inProgress: 0, sinceMs: 0, requests: 1, ids: ['a'] };
    const none = { requests: 0, unpriced: 0, dollars: 0, dollarsWithout: 0 };
    const billed = { requests: 1, unpriced: 0, dollars: 0.25, dollarsWithout: 0.5 };
    const figures = (waits: boolean) => {
      const costs = [none, none, billed];
      const store = { costOf: async () => costs.shift() ?? billed };
      const sources = { reported: async () => {}, ledger: { flush: async () => {} }, store, opened: [] };
      const known = { of: () => counted, ended: (run: string, limitMs: number) => book.ended(run, limitMs) };
      return figuresOfRun({ ...sources, book: known }, 'r', waits);
    };
    expect(await figures(false)).toMatchObject({ open: 1, dollars: null });
    expect(await figures(true)).toMatchObject({ open: 0, dollars: 0.25, dollarsWithout: 0.5 });
  });

  it('count only the requests of that run, with its cuts and its bill', async () => {
    const { upstream, proxy, ask, figures } = await stage();
    const [run, other] = [markedRun(proxy.url), markedRun(proxy.url)];
    await ask(run.url, small);
    await ask(run.url, log);
    await ask(run.url, [...log, { role: 'assistant', content: 'I see.' }, { role: 'user', content: 'Go on.' }]);
    await ask(other.url, small);
    await ask(proxy.url, oneCall(serverLog(300, 2)));
    expect(upstream.requests.map(({ url }) => url)).toEqual(Array.from({ length: 5 }, () => '/v1/messages'));

    const sentence = await summaryOf(open(proxy.url), run.id); // waits for the bill
    const did = await figures(run.id);
    expect(did).toMatchObject({ requests: 3, failed: 0, open: 0, cuts: 1, leftWhole: { small: 1 }, limits: [] });
    expect(did.dollars).toBeCloseTo(3 * DOLLARS, 9);
    const saved = did.dollarsWithout ?? 0;
    expect(saved).toBeGreaterThan(3 * DOLLARS);
    expect(did.removed).toBeLessThan(did.tokens);
    expect(sentence).toMatch(
      /^3 requests, 1 cut: [\d.]+K of [\d.]+K tokens, \$0\.\d+ of \$0\.\d+\. mcp-pruner why \S+$/,
    );
    expect(sentence).toContain(`why ${did.largest}`);
    expect(await summaryOf(open(proxy.url), other.id)).toMatch(
      /^1 request, nothing was cut: it is too small \(1 of 1 text\), \$0\.10 spent\. mcp-pruner why --conversation \S+$/,
    );
  });

  it('wait for a request whose agent was stopped, and count it as failed', async () => {
    const { upstream, proxy, ask, figures } = await stage();
    const run = markedRun(proxy.url);
    const answer = upstream.answer;
    upstream.answer = () => {}; // never
    const agent = new AbortController();
    const body = new Uint8Array(messagesBody(log));
    const asked = fetch(`${run.url}/v1/messages`, { method: 'POST', body, signal: agent.signal }).catch(() => null);
    await until(() => upstream.requests.length === 1);
    expect(await figures(run.id)).toMatchObject({ requests: 0, failed: 0, open: 1 });
    const sentence = summaryOf(open(proxy.url), run.id);
    agent.abort();
    await asked;
    expect(await sentence).toMatch(/^0 requests \(1 more failed\), nothing was cut/);
    upstream.answer = answer;
    await ask(run.url, small);
    expect(await summaryOf(open(proxy.url), run.id)).toMatch(/^1 request \(1 more failed\)/);
  });

  it('count the requests of a WebSocket, which is shown as open until it is closed', async () => {
    const upstream = await startSocketUpstream();
    const proxy = await startProxy(upstream.url);
    const run = markedRun(proxy.url);
    upstream.onMessage = (socket) => {
      const usage = { input_tokens: 900, output_tokens: 7 };
      socket.send(JSON.stringify({ type: 'response.created', response: { id: 'r1' } }));
      socket.send(JSON.stringify({ type: 'response.completed', response: { id: 'r1', usage } }));
    };
    const client = await openSocket(run.url);
    client.socket.send(JSON.stringify({ type: 'response.create', model: 'gpt-test', input: [] }));
    await client.received(2);
    const figures = async () => (await (await fetch(`${proxy.url}/run/${run.id}`)).json()) as RunFigures;
    expect((await figures()).open).toBeGreaterThan(0);
    client.socket.close();
    await client.closed;
    expect(await summaryOf(open(proxy.url), run.id)).toMatch(/^1 request, nothing was cut: there was no tool result\./);
    expect(upstream.last.request.url).toBe('/v1/responses');
  });

  it('require the token or key that /rpc requires, belong to one key, and are refused to a foreign page', async () => {
    const { proxy } = await stage({ MCP_PRUNER_AUTH_TOKEN: 'a-token' });
    const { id } = markedRun('');
    const ask = async (url: string, headers: Record<string, string>) =>
      (await send(`${url}/run/${id}`, { headers })).status;
    expect(await ask(proxy.url, {})).toBe(401);
    expect(await ask(proxy.url, { authorization: 'Bearer a-token' })).toBe(200);
    expect(await summaryOf({ url: proxy.url, token: 'a-token', key: null }, id)).toContain('no request');
    const plain = await stage();
    expect(await ask(plain.proxy.url, { host: 'evil.example' })).toBe(403);
    expect(await ask(plain.proxy.url, {})).toBe(200);

    const place = await onFile();
    const team = await startTeam(place);
    const [web, api] = [await newKey(place, 'web'), await newKey(place, 'api')];
    expect(await ask(team.url, {})).toBe(401);
    const body = chatBody([{ role: 'user', content: 'Hello.' }]);
    const headers = { 'content-type': 'application/json', 'x-mcp-pruner-key': web };
    await send(`${team.url}/run/${id}/v1/chat/completions`, { method: 'POST', headers, body });
    expect(await summaryOf({ url: team.url, token: null, key: web }, id)).toMatch(/^1 request/);
    expect(await summaryOf({ url: team.url, token: null, key: api }, id)).toContain('no request');
  });

  it('are empty for an unknown run, and absent if another program answers', async () => {
    const { upstream, proxy } = await stage();
    expect(await summaryOf(open(proxy.url), markedRun('').id)).toBe('no request to a model came through the proxy');
    upstream.answer = (_request, res) => json(res, 404, {});
    expect(await summaryOf(open(`http://127.0.0.1:${upstream.port}`), markedRun('').id)).toBeNull();
    expect(await summaryOf(open('http://127.0.0.1:1'), markedRun('').id)).toBeNull();
  });

  it('are requested once, and shown at the deadline even if a request is in flight', async () => {
    const upstream = await startUpstream((_request, res) => json(res, 200, { ...FIGURES, open: 1 }));
    expect(await summaryOf(open(`http://127.0.0.1:${upstream.port}`), markedRun('').id)).toMatch(/^7 requests, 1 cut/);
    expect(upstream.requests).toHaveLength(1);
  });

  it('show what would have been cut in shadow mode, and why nothing was cut if pruning is off', async () => {
    const shadow = await stage({ MCP_PRUNER_MODE: 'shadow' });
    const run = markedRun(shadow.proxy.url);
    await shadow.ask(run.url, log);
    expect(await summaryOf(open(shadow.proxy.url), run.id)).toMatch(
      /^1 request, 1 cut in shadow mode, which removes nothing: [\d.]+K of [\d.]+K tokens, \$0\.\d+ of \$0\.10\./,
    );
    const off = await stage({ MCP_PRUNER_ENABLED: 'false' });
    const whole = markedRun(off.proxy.url);
    await off.ask(whole.url, log);
    expect(await summaryOf(open(off.proxy.url), whole.id)).toMatch(
      /^1 request, nothing was cut: pruning was switched off/,
    );
  });
});

describe('the sentence at the end of a run', () => {
  it.each<[Partial<RunFigures>, string]>([
    [{}, '7 requests, 1 cut: 6.4K of 7.1K tokens, $0.03 of $0.31. mcp-pruner why p_1'],
    [{ dollars: null }, '7 requests, 1 cut: 6.4K of 7.1K tokens. mcp-pruner why p_1'],
    [
      { dollars: 0.33 },
      '7 requests, 1 cut: 6.4K of 7.1K tokens, $0.02 more than the $0.31 without cuts. mcp-pruner why p_1',
    ],
    [
      {
        limits: [
          { window: '5h', used: 0.021 },
          { window: '7d', used: 0.003 },
        ],
      },
      '7 requests, 1 cut: 6.4K of 7.1K tokens, used 2.1 points of 5h and 0.3 points of 7d. mcp-pruner why p_1',
    ],
    [
      { cuts: 0, largest: '', leftWhole: { small: 12, file: 2 }, dollars: 0.31 },
      '7 requests, nothing was cut: it is too small (12 of 14 texts), $0.31 spent. mcp-pruner why --conversation c1',
    ],
  ])('of %j', (over, sentence) => {
    expect(sentenceOf({ ...FIGURES, ...over })).toBe(sentence);
  });
});

it('a run that wrote markers into files ends with a warning', () => {
  expect(sentenceOf({ ...FIGURES, markersWritten: 2 })).toMatch(/ Warning: the model wrote 2 markers into files, /);
  expect(sentenceOf(FIGURES)).not.toContain('Warning');
});
