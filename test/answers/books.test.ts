import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, deflateRawSync, gzipSync } from 'node:zlib';
import { readReport } from '@mcp-pruner/ledger/ledger.ts';
import { describe, expect, it } from 'vitest';
import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import type { ProviderUsage } from '../../src/wires/dialects/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { type Answer, startUpstream } from '../helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../helpers/messages.ts';
import { startProxy } from '../helpers/proxy.ts';
import { openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';
import { send } from '../helpers/wire.ts';
import { zstdStored } from '../helpers/zstd-frame.ts';
import { type AnswerCase, CASES, dataOf, named } from './cases.ts';

const MODEL = 'acme-code-1';
const RATES = { input: 10, output: 50, cache_read: 1, cache_write_5m: 12.5, cache_write_1h: 20 };
const PRICES = `[[price]]
model = "${MODEL}"
provider = "acme"
day = "2026-11-23"
source = "made up"
${Object.entries(RATES)
  .map(([key, rate]) => `${key} = ${rate}`)
  .join('\n')}
`;

/** What a provider asks for an answer. */
function dollarsOf(usage: Partial<ProviderUsage> | null): number {
  if (usage === null) return 0;
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens, besides } = usage;
  const [input, output, read, written, long] = [
    ...[promptTokens, completionTokens, cachedTokens, cacheWriteTokens, cacheWrite1hTokens].map((count) => count ?? 0),
  ] as [number, number, number, number, number];
  const dollars =
    (input - read - written) * RATES.input +
    output * RATES.output +
    read * RATES.cache_read +
    (written - long) * RATES.cache_write_5m +
    long * RATES.cache_write_1h;
  const more = besides && { promptTokens: besides.input, completionTokens: besides.output, cachedTokens: besides.read };
  return dollars / 1e6 + (more ? dollarsOf(more) : 0);
}

async function setUp(answer: Answer, env: Readonly<Record<string, string>> = {}) {
  const upstream = await startUpstream(answer);
  const url = `http://127.0.0.1:${upstream.port}`;
  const prices = join(tempFolder(), 'prices.toml');
  writeFileSync(prices, PRICES);
  const urls = { MCP_PRUNER_ANTHROPIC_URL: `${url}/v1`, MCP_PRUNER_GEMINI_URL: url };
  return { upstream, proxy: await startProxy(upstream, { env: { MCP_PRUNER_PRICES: prices, ...urls, ...env } }) };
}

const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  gemini: `/v1beta/models/${MODEL}:generateContent`,
  interactions: '/v1beta/interactions',
  converse: `/model/${MODEL}/converse`,
};

function bodyOf(wire: keyof typeof PATHS, text: string): object {
  const message = { role: 'user', content: text };
  if (wire === 'gemini') return { contents: [{ role: 'user', parts: [{ text }] }] };
  if (wire === 'converse') return { messages: [{ role: 'user', content: [{ text }] }] };
  return wire === 'responses' || wire === 'interactions'
    ? { model: MODEL, input: text }
    : { model: MODEL, max_tokens: 9, messages: [message] };
}

const ENCODINGS: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
  ['identity', (bytes) => bytes],
  ['gzip', (bytes) => gzipSync(bytes)],
  ['deflate', (bytes) => deflateRawSync(bytes)],
  ['br', (bytes) => brotliCompressSync(bytes)],
  ['zstd', zstdStored],
];

describe('the books of the proxy', () => {
  it('match the provider’s usage to the cent for every form of answer and every encoding', async () => {
    // an answer without usage or error is estimated; an unsigned request to Bedrock is not read
    const answers = CASES.filter(
      ({ usage, error, dialect }) => (usage !== null || error) && dialect.name !== 'converse',
    );
    const exchanges = ENCODINGS.flatMap(([encoding, encode], at) =>
      answers
        .filter((_, i) => at === 0 || i % (ENCODINGS.length - 1) === at - 1) // each as it is and in one encoding
        .map((answer) => ({ encoding, encode, answer })),
    );
    const { proxy } = await setUp((_request, res, index) => {
      const { encoding, encode, answer } = exchanges[index] as (typeof exchanges)[number];
      const type = /^(?:data|event):/.test(answer.bytes.toString('latin1', 0, 6))
        ? 'text/event-stream'
        : 'application/json';
      res.writeHead(200, { 'content-type': type, 'content-encoding': encoding });
      res.end(encode(answer.bytes));
    });
    const books = new Map<string, { readonly name: string; readonly dollars: number }>();
    for (const [i, { encoding, encode, answer }] of exchanges.entries()) {
      const wire = answer.dialect.name;
      const received = await fetch(`${proxy.url}${PATHS[wire]}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'accept-encoding': 'identity' },
        body: JSON.stringify(bodyOf(wire, `Question ${i}`)),
      });
      const bytes = await received.arrayBuffer();
      // fetch of Node 24 decodes zstd
      if (encoding === 'identity' || encoding === 'zstd')
        expect([encode(answer.bytes), answer.bytes].some((sent) => sent.equals(Buffer.from(bytes)))).toBe(true);
      const requestId = received.headers.get('x-mcp-pruner-request-id') ?? '';
      if (answer.usage)
        books.set(requestId, { name: `${wire}: ${answer.name}, ${encoding}`, dollars: dollarsOf(answer.usage) });
    }
    await proxy.requestLines(exchanges.length);
    await proxy.stop();
    const { ledger } = openStore(proxy.dbPath);
    const conversations = await ledger.conversations({ sinceMs: 0, limit: 999 });
    const turns = await Promise.all(
      conversations.map(({ conversationId }) => ledger.turns({ conversationId, limit: 9 })),
    );
    const billed = turns.flat().map(({ requestId, dollars }) => [books.get(requestId)?.name, dollars?.toFixed(9)]);
    const expected = [...books.values()].map(({ name, dollars }) => [name, dollars.toFixed(9)]);
    expect(billed.sort()).toEqual(expected.sort());
    const { totals } = await readReport(ledger, { sinceDay: '2000-01-01' });
    expect(totals).toMatchObject({ requests: books.size, estimated: 0, unpriced: 0 });
    expect(totals.dollars).toBeCloseTo(
      [...books.values()].reduce((sum, { dollars }) => sum + dollars, 0),
      6,
    );
  });

  it.each([
    ['the field x-mcp-pruner: off', {}, { 'x-mcp-pruner': 'off' }],
    ['the kill switch', { MCP_PRUNER_ENABLED: 'false' }, {}],
    ['the limit of a body', { MCP_PRUNER_MAX_BODY_BYTES: '2000' }, {}],
  ])('contain requests that are left unread because of %s', async (_switch, env, headers) => {
    const figures = { promptTokens: 9_000, completionTokens: 40, cachedTokens: 1_000 };
    const usage = { prompt_tokens: 9_000, completion_tokens: 40, prompt_tokens_details: { cached_tokens: 1_000 } };
    const { proxy, upstream } = await setUp(({ url }, res) => {
      const gemini = { promptTokenCount: 9_000, candidatesTokenCount: 40, cachedContentTokenCount: 1_000 };
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(JSON.stringify(url.includes(':') ? { usageMetadata: gemini } : { model: MODEL, usage }));
    }, env);
    for (const wire of ['chat', 'gemini'] as const) {
      const body = JSON.stringify(bodyOf(wire, serverLog(200)));
      await (await fetch(`${proxy.url}${PATHS[wire]}`, { method: 'POST', headers, body })).text();
      expect(upstream.last.body.toString()).toBe(body);
    }
    await proxy.requestLines(2);
    await proxy.stop();
    const { totals } = await readReport(openStore(proxy.dbPath).ledger, { sinceDay: '2000-01-01' });
    expect(totals).toMatchObject({ requests: 2, estimated: 0, unpriced: 0 });
    expect(totals.dollars).toBeCloseTo(2 * dollarsOf(figures), 9);
  });

  it('estimate the output of a stream without usage from its text, and mark it as estimated', async () => {
    const events = Array.from({ length: 40 }, () => ({ choices: [{ delta: { content: 'word '.repeat(20) } }] }));
    const { proxy } = await setUp((_request, res) =>
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end(dataOf(...events)),
    );
    await (await proxy.chat(JSON.stringify(bodyOf('chat', 'Why?')))).text();
    await proxy.requestLines(1);
    await proxy.stop();
    const { totals } = await readReport(openStore(proxy.dbPath).ledger, { sinceDay: '2000-01-01' });
    expect(totals).toMatchObject({ requests: 1, estimated: 1, output: 1_000 });
  });

  it('agree with the provider in report and control group if a tenth of the answers are errors, retries or refusals', async () => {
    let spent = 0;
    const answered = { pruned: 0, control: 0 };
    const usage = { prompt_tokens: 20_000, completion_tokens: 500, prompt_tokens_details: { cached_tokens: 4_096 } };
    const figures = { promptTokens: 20_000, completionTokens: 500, cachedTokens: 4_096 };
    const errors: readonly (readonly [status: number, body: Buffer])[] = [
      [200, dataOf({ error: { type: 'overloaded_error', message: 'x' } })],
      [429, Buffer.from('{"error":{"type":"rate_limit"}}')],
      [200, Buffer.from('{"error":{"type":"server_error","code":500}}')],
      [529, Buffer.from('{"error":{}}')],
    ];
    const { proxy } = await setUp(
      (request, res, index) => {
        const isPruned = request.body.includes('prune_id=');
        if (index % 10 === 3) {
          const [status, body] = errors[Math.floor(index / 10) % errors.length] as (typeof errors)[number];
          return res.writeHead(status, { 'content-type': 'text/event-stream' }).end(body);
        }
        if (index % 10 === 7 && isPruned) {
          const refused = { error: { type: 'invalid_request_error', message: 'x' } };
          return res.writeHead(200, { 'content-type': 'text/event-stream' }).end(dataOf(refused));
        }
        spent += dollarsOf(figures);
        answered[isPruned ? 'pruned' : 'control']++;
        const events = request.url.endsWith('/messages')
          ? named(
              [
                { type: 'message_start', message: { usage: { input_tokens: 15_904, cache_read_input_tokens: 4_096 } } },
                { type: 'message_delta', usage: { output_tokens: 500 } },
              ],
              'last',
            )
          : dataOf({ choices: [], usage });
        return res.writeHead(200, { 'content-type': 'text/event-stream' }).end(events);
      },
      { MCP_PRUNER_HOLDOUT: '0.5' },
    );
    const dialects: readonly AnswerCase['dialect'][] = [openaiChat, anthropicMessages];
    let sent = 0;
    for (let i = 0; i < 30; i++) {
      const wire = dialects[i % 2]?.name === 'messages' ? 'messages' : 'chat';
      const log = serverLog(200, i);
      const chat = oneResult(log).map((message, at) =>
        at === 1 ? { ...message, content: `Question ${i}: why?` } : message,
      );
      const body =
        wire === 'messages' ? messagesBody(oneCall(log), { model: MODEL }) : chatBody(chat, { model: MODEL });
      const headers = { 'content-type': 'application/json' };
      for (let attempt = 0; attempt < 2; attempt++) {
        const answer = await fetch(`${proxy.url}${PATHS[wire]}`, { method: 'POST', headers, body });
        const text = await answer.text();
        sent++;
        if (text.includes('usage')) break;
      }
    }
    await proxy.requestLines(sent);
    await proxy.stop();
    const { ledger } = openStore(proxy.dbPath);
    const { totals } = await readReport(ledger, { sinceDay: '2000-01-01' });
    expect(totals.requests).toBe(answered.pruned + answered.control);
    expect(totals.dollars).toBeCloseTo(spent, 6);
    const conversations = await ledger.conversations({ sinceMs: 0, limit: 99 });
    const arms = conversations.reduce((sum, { dollars }) => sum + (dollars ?? 0), 0);
    expect(arms).toBeCloseTo(spent, 6);
  });
});

describe('large requests that end together', () => {
  it('are all reported and billed, however many bytes wait for their reports', async () => {
    const [count, bytes] = [17, 4 * 2 ** 20]; // more than 64 MB
    let answerAll = (): void => {};
    const allArrived = new Promise<void>((resolve) => {
      answerAll = resolve;
    });
    const { upstream, proxy } = await setUp(async (_request, res, index) => {
      if (index === count - 1) answerAll();
      await allArrived;
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ model: MODEL, usage: { prompt_tokens: 1_000_000, completion_tokens: 0 } }));
    });
    const body = (i: number): Buffer =>
      Buffer.from(JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: `${i}`.padEnd(bytes, 'x') }] }));
    await Promise.all(Array.from({ length: count }, async (_, i) => (await proxy.chat(body(i))).arrayBuffer()));
    expect(upstream.requests).toHaveLength(count);
    await proxy.requestLines(count);
    await proxy.stop();
    const { totals } = await readReport(openStore(proxy.dbPath).ledger, { sinceDay: '2000-01-01' });
    expect(totals).toMatchObject({ requests: count });
  });
});

/** A request of some ten thousand tokens. */
const BIG = Buffer.from(
  JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'word '.repeat(10_000) }] }),
);

describe('an answer that cannot be decoded', () => {
  it('is billed by its size, and counted', async () => {
    const window = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0xa0, 1, 0, 0]); // 1 GiB
    const { proxy } = await setUp((_request, res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'zstd' }).end(window);
    });
    const headers = { 'accept-encoding': 'zstd' };
    const answer = await send(`${proxy.url}/v1/chat/completions`, { method: 'POST', headers, body: BIG });
    expect(answer.body.equals(window)).toBe(true);
    expect(await proxy.requestLines(1)).toMatchObject([{ fallbacks: ['answer_not_read'] }]);
    const health = (await (await fetch(`${proxy.url}/health`)).json()) as Record<string, unknown>;
    expect(health).toMatchObject({ status: 'healthy', not_understood: { answer_not_read: 1 } });
    await proxy.stop();
    const { totals } = await readReport(openStore(proxy.dbPath).ledger, { sinceDay: '2000-01-01' });
    expect(totals).toMatchObject({ requests: 1, estimated: 1 });
    expect(totals.dollars).toBeGreaterThan(0);
  });
});

describe('an answer with absurd figures', () => {
  it.each([2 ** 62, 2 ** 63, 1e300, 20_000_001])(
    'is billed by its size, and spoils no other bill: %d',
    async (count) => {
      const usages = [
        { prompt_tokens: count, completion_tokens: 1 },
        { prompt_tokens: 1_000, completion_tokens: count },
        { prompt_tokens: 1_000, completion_tokens: 1, prompt_tokens_details: { cached_tokens: count } },
        { prompt_tokens: 1_000, completion_tokens: 1 },
      ];
      const windows = { '5h-utilization': '999999999999999', '5h-reset': '999999999999999' };
      const { proxy } = await setUp((_request, res, index) => {
        for (const [name, value] of Object.entries(windows))
          res.setHeader(`anthropic-ratelimit-unified-${name}`, value);
        res.setHeader('content-type', 'application/json');
        res.end(JSON.stringify({ model: MODEL, usage: usages[index] }));
      });
      for (const { prompt_tokens } of usages) {
        await (await proxy.chat(chatBody([{ role: 'user', content: `${prompt_tokens}` }]))).arrayBuffer();
      }
      const lines = await proxy.requestLines(usages.length);
      expect(lines.map(({ fallbacks = [] }) => fallbacks)).toEqual([['odd_usage'], ['odd_usage'], ['odd_usage'], []]);
      const health = (await (await fetch(`${proxy.url}/health`)).json()) as Record<string, unknown>;
      expect(health).toMatchObject({ status: 'healthy', not_understood: { odd_usage: 3 } });
      await proxy.stop();
      const { ledger } = openStore(proxy.dbPath);
      const { totals } = await readReport(ledger, { sinceDay: '2000-01-01' });
      expect(totals.requests).toBe(usages.length);
      const conversations = await ledger.conversations({ sinceMs: 0, limit: 9 });
      const rows = await Promise.all(conversations.map((one) => ledger.turns({ ...one, limit: 9 })));
      const marks = rows.flat().toSorted((a, b) => a.atMs - b.atMs);
      expect(marks.map(({ odd = false }) => odd)).toEqual([true, true, true, false]);
      expect(marks.map(({ estimated }) => estimated)).toEqual([true, true, false, false]);
      expect(totals.dollars).toBeLessThan(0.1);
    },
  );
});
