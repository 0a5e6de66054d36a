import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readReport } from '../../src/ledger/ledger.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const MODEL = 'acme-code-1';
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

interface Counts {
  readonly fresh: number;
  readonly written: number;
  readonly read: number;
  readonly said: number;
  readonly thought: number;
  /** Number of the request, from 0. */
  readonly index: number;
}

/** A turn of an agent: what it called, and what came of that. */
type Turn = readonly [command: string, result: string];

interface WireForm {
  readonly path: (stream: boolean) => string;
  readonly body: (turns: readonly Turn[], stream: boolean) => object;
  readonly answer: (counts: Counts) => object;
  /** The events of a streamed answer. */
  readonly events: (counts: Counts) => readonly object[];
  readonly writes?: true;
}

const QUESTION = 'Why does the checkout fail for some customers? Find the failing payment.';
const all = ({ fresh, written, read }: Counts): number => fresh + written + read;

const chatUsage = (counts: Counts) => ({
  prompt_tokens: all(counts),
  completion_tokens: counts.said + counts.thought,
  prompt_tokens_details: { cached_tokens: counts.read },
  completion_tokens_details: { reasoning_tokens: counts.thought },
});
const messagesUsage = ({ fresh, written, read, said, thought }: Counts) => ({
  input_tokens: fresh,
  cache_creation_input_tokens: written,
  cache_read_input_tokens: read,
  output_tokens: said + thought,
});
const responsesUsage = (counts: Counts) => ({
  input_tokens: all(counts),
  input_tokens_details: { cached_tokens: counts.read },
  output_tokens: counts.said + counts.thought,
  output_tokens_details: { reasoning_tokens: counts.thought },
});
/** Gemini leaves out counts that are 0. */
const geminiUsage = (counts: Counts) => ({
  promptTokenCount: all(counts),
  candidatesTokenCount: counts.said,
  thoughtsTokenCount: counts.thought,
  ...(counts.read > 0 && { cachedContentTokenCount: counts.read }),
});

const WIRES: Readonly<Record<string, WireForm>> = {
  chat: {
    path: () => '/v1/chat/completions',
    body: (turns, stream) => ({
      model: MODEL,
      stream,
      messages: [
        { role: 'user', content: QUESTION },
        ...turns.flatMap(([command, content], i) => [
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: `c${i}`, type: 'function', function: { name: 'bash', arguments: JSON.stringify({ command }) } },
            ],
          },
          { role: 'tool', tool_call_id: `c${i}`, content },
        ]),
      ],
    }),
    answer: (counts) => ({ choices: [{ message: { role: 'assistant', content: 'ok' } }], usage: chatUsage(counts) }),
    events: (counts) => [
      { choices: [{ delta: { content: 'ok' } }], usage: null },
      { choices: [], usage: chatUsage(counts) },
    ],
  },
  messages: {
    path: () => '/v1/messages',
    writes: true,
    body: (turns, stream) => ({
      model: MODEL,
      stream,
      max_tokens: 1_000,
      cache_control: { type: 'ephemeral' },
      messages: [
        { role: 'user', content: QUESTION },
        ...turns.flatMap(([command, content], i) => [
          { role: 'assistant', content: [{ type: 'tool_use', id: `t${i}`, name: 'Bash', input: { command } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${i}`, content }] },
        ]),
      ],
    }),
    answer: (counts) => ({ type: 'message', role: 'assistant', content: [], usage: messagesUsage(counts) }),
    events: (counts) => [
      { type: 'message_start', message: { usage: { ...messagesUsage(counts), output_tokens: 1 } } },
      { type: 'message_delta', usage: { output_tokens: counts.said + counts.thought } },
    ],
  },
  responses: {
    path: () => '/v1/responses',
    body: (turns, stream) => ({
      model: MODEL,
      stream,
      store: false,
      input: [
        { type: 'message', role: 'user', content: QUESTION },
        ...turns.flatMap(([command, output], i) => [
          { type: 'function_call', call_id: `f${i}`, name: 'shell', arguments: JSON.stringify({ command }) },
          { type: 'function_call_output', call_id: `f${i}`, output },
        ]),
      ],
    }),
    answer: (counts) => ({ id: 'resp_1', object: 'response', output: [], usage: responsesUsage(counts) }),
    events: (counts) => [
      { type: 'response.created', response: { id: 'resp_1' } },
      { type: 'response.completed', response: { id: 'resp_1', usage: responsesUsage(counts) } },
    ],
  },
  generateContent: {
    path: (stream) => `/v1beta/models/${MODEL}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (turns) => ({
      contents: [
        { role: 'user', parts: [{ text: QUESTION }] },
        ...turns.flatMap(([command, output], i) => [
          { role: 'model', parts: [{ functionCall: { id: `g${i}`, name: 'bash', args: { command } } }] },
          { role: 'user', parts: [{ functionResponse: { id: `g${i}`, name: 'bash', response: { output } } }] },
        ]),
      ],
    }),
    answer: (counts) => ({
      candidates: [{ content: { parts: [{ text: 'ok' }] } }],
      usageMetadata: geminiUsage(counts),
    }),
    events: (counts) => [
      { candidates: [{ content: { parts: [{ text: 'o' }] } }], usageMetadata: { promptTokenCount: all(counts) } },
      { candidates: [{ content: { parts: [{ text: 'k' }] } }], usageMetadata: geminiUsage(counts) },
    ],
  },
};

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
    expect(Math.abs(report.totals.gross / saved - 1)).toBeLessThan(0.12);
    const [low, high] = report.totals.savedRange ?? [Number.NaN, Number.NaN];
    expect([low < saved, saved < high]).toEqual([true, true]);
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

  it('has no cache in the counterfactual bill either, whatever cache_control asks for', async () => {
    const { report } = await play(withFiguresFrom(9), { requests: 6, cacheFrom: 9 });
    const { removed, gross } = report.totals;
    expect(removed).toBeGreaterThan(10_000);
    expect(gross).toBeCloseTo((removed * RATES.input) / 1e6, 5);
    expect(report.misses).toEqual([]);
  });

  it('is billed with a cache from the first answer with cache figures on, even if they are 0', async () => {
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
