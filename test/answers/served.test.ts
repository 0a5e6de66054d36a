import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPriceFile } from '@mcp-pruner/money/price-file.ts';
import { Prices } from '@mcp-pruner/money/prices.ts';
import { pricing } from '@mcp-pruner/money/served-price.ts';
import { describe, expect, it } from 'vitest';
import { AnswerReader } from '../../src/wires/dialects/answers/reader.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { projectRoot } from '../helpers/project-files.ts';
import { startProxy } from '../helpers/proxy.ts';
import { openStore } from '../helpers/rewriter.ts';
import { dataOf, type Event } from './cases.ts';

const json = (event: Event): Buffer => Buffer.from(JSON.stringify(event));
const sse = (...events: Event[]): Buffer => dataOf(...events);
const content: Event = { choices: [{ index: 0, delta: { content: 'Done.' } }] };

/** Usage of 1,000 tokens in and 100 out on each wire. */
const chat = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };
const messages = { input_tokens: 1_000, output_tokens: 100 };
const gemini = { promptTokenCount: 1_000, candidatesTokenCount: 100, totalTokenCount: 1_100 };

const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  gemini: '/v1beta/models/gemini-2.5-pro:generateContent',
};
type Wire = keyof typeof PATHS;

/** A wire and model, the answer, and what it costs in dollars. Prices a million: gpt-5 1.25 and 10, claude-opus-5 5 and 25. */
const GPT = (1_000 * 1.25 + 100 * 10) / 1e6;
const OPUS = (1_000 * 5 + 100 * 25) / 1e6;
const GEMINI = (1_000 * 1.25 + 100 * 10) / 1e6;

const CASES: readonly (readonly [string, Wire, string, Buffer, number])[] = [
  ['flex, whole', 'chat', 'gpt-5', json({ model: 'gpt-5', service_tier: 'flex', choices: [], usage: chat }), GPT * 0.5],
  [
    'flex, streamed',
    'chat',
    'gpt-5',
    sse({ ...content, service_tier: 'flex' }, { choices: [], service_tier: 'flex', usage: chat }),
    GPT * 0.5,
  ],
  [
    'priority',
    'responses',
    'gpt-5',
    json({ model: 'gpt-5', service_tier: 'priority', output: [], usage: messages }),
    GPT * 2,
  ],
  [
    'priority, streamed',
    'responses',
    'gpt-5',
    sse(
      { type: 'response.created', response: { service_tier: 'auto' } },
      { type: 'response.completed', response: { service_tier: 'priority', output: [], usage: messages } },
    ),
    GPT * 2,
  ],
  [
    'asked for flex, served by default',
    'chat',
    'gpt-5',
    json({ service_tier: 'default', choices: [], usage: chat }),
    GPT,
  ],
  [
    'flex on Google',
    'gemini',
    'gemini-2.5-pro',
    json({ usageMetadata: { ...gemini, trafficType: 'ON_DEMAND_FLEX' } }),
    GEMINI * 0.5,
  ],
  [
    'fast',
    'messages',
    'claude-opus-5',
    json({ usage: { ...messages, speed: 'fast', service_tier: 'standard' } }),
    OPUS * 2,
  ],
  [
    'fast, streamed',
    'messages',
    'claude-opus-5',
    sse(
      { type: 'message_start', message: { usage: { input_tokens: 1_000, output_tokens: 1, speed: 'fast' } } },
      { type: 'message_delta', usage: { output_tokens: 100 } },
    ),
    OPUS * 2,
  ],
  ['fast on an older model', 'messages', 'claude-opus-4-6', json({ usage: { ...messages, speed: 'fast' } }), OPUS * 6],
  ['in one country', 'messages', 'claude-opus-5', json({ usage: { ...messages, inference_geo: 'us' } }), OPUS * 1.1],
  [
    'fast in one country',
    'messages',
    'claude-opus-5',
    json({ usage: { ...messages, inference_geo: 'us', speed: 'fast' } }),
    OPUS * 2.2,
  ],
  [
    'anywhere',
    'messages',
    'claude-opus-5',
    json({ usage: { ...messages, inference_geo: 'global', speed: 'standard' } }),
    OPUS,
  ],
  ['a batch', 'messages', 'claude-opus-5', json({ usage: { ...messages, service_tier: 'batch' } }), OPUS * 0.5],
  [
    'priority by commitment',
    'messages',
    'claude-opus-5',
    json({ usage: { ...messages, service_tier: 'priority' } }),
    OPUS,
  ],
  [
    'three searches',
    'messages',
    'claude-opus-5',
    json({ usage: { ...messages, server_tool_use: { web_search_requests: 3 } } }),
    OPUS + 0.03,
  ],
  [
    'three searches, streamed',
    'messages',
    'claude-opus-5',
    sse(
      { type: 'message_start', message: { usage: { input_tokens: 1_000, output_tokens: 1 } } },
      { type: 'message_delta', usage: { output_tokens: 100, server_tool_use: { web_search_requests: 3 } } },
    ),
    OPUS + 0.03,
  ],
  [
    'searches as items',
    'responses',
    'gpt-5',
    json({
      output: [
        { type: 'web_search_call', action: { type: 'search' } },
        { type: 'web_search_call', action: { type: 'open_page' } },
        { type: 'web_search_call' },
      ],
      usage: messages,
    }),
    GPT + 0.02,
  ],
  [
    'searches as items, streamed',
    'responses',
    'gpt-5',
    sse({ type: 'response.completed', response: { output: [{ type: 'web_search_call' }], usage: messages } }),
    GPT + 0.01,
  ],
  [
    'reasoning beside the completion',
    'chat',
    'grok-4',
    json({
      usage: {
        prompt_tokens: 10_120,
        completion_tokens: 1_499,
        total_tokens: 14_428,
        completion_tokens_details: { reasoning_tokens: 2_809 },
      },
    }),
    (10_120 * 3 + 4_308 * 15) / 1e6,
  ],
  [
    'reasoning beside, streamed',
    'chat',
    'grok-4',
    sse(
      {
        ...content,
        usage: {
          prompt_tokens: 10_120,
          completion_tokens: 1,
          total_tokens: 12_930,
          completion_tokens_details: { reasoning_tokens: 2_809 },
        },
      },
      {
        choices: [],
        usage: {
          prompt_tokens: 10_120,
          completion_tokens: 1_499,
          total_tokens: 14_428,
          completion_tokens_details: { reasoning_tokens: 2_809 },
        },
      },
    ),
    (10_120 * 3 + 4_308 * 15) / 1e6,
  ],
  [
    'reasoning beside, without a name',
    'chat',
    'gemini-2.5-pro',
    json({ usage: { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_100 } }),
    (1_000 * 1.25 + 100 * 10) / 1e6,
  ],
  [
    'reasoning within the completion',
    'chat',
    'gpt-5',
    json({ usage: { ...chat, completion_tokens_details: { reasoning_tokens: 60 } } }),
    GPT,
  ],
  ['a model without a price that names its cost', 'chat', 'acme-1', json({ usage: { ...chat, cost: 0.0123 } }), 0.0123],
  ['its cost, streamed', 'chat', 'acme-1', sse(content, { choices: [], usage: { ...chat, cost: 0.0123 } }), 0.0123],
  ['a model with a price that names another cost', 'chat', 'gpt-5', json({ usage: { ...chat, cost: 9 } }), GPT],
  ...(
    [
      [
        'its first letter',
        'chat',
        'gpt-5',
        '{"choices":[],"\\u0075sage":{"prompt_tokens":1000,"completion_tokens":100}}',
        GPT,
      ],
      [
        'its last letter',
        'chat',
        'gpt-5',
        '{"choices":[],"usag\\u0065" : {"prompt_tokens":1000,"completion_tokens":100}}',
        GPT,
      ],
      [
        'a key within',
        'chat',
        'gpt-5',
        '{"choices":[],"usage":{"prompt_tok\\u0065ns":1000,"completion_tokens":100}}',
        GPT,
      ],
      [
        'inside a message',
        'messages',
        'claude-opus-5',
        '{"type":"message_start","message":{"us\\u0061ge":{"input_tokens":1000,"output_tokens":100}}}',
        OPUS,
      ],
      [
        'on responses',
        'responses',
        'gpt-5',
        '{"type":"response.completed","response":{"output":[],"\\u0075s\\u0061ge":{"input_tokens":1000,"output_tokens":100}}}',
        GPT,
      ],
    ] as const
  ).map(([where, wire, model, event, dollars]): (typeof CASES)[number] => {
    return [`an escaped letter, ${where}`, wire, model, Buffer.from(`data: ${event}\n\n`), dollars];
  }),
  [
    'a key with an escaped letter',
    'chat',
    'gpt-5',
    Buffer.from(
      `data: ${JSON.stringify(content)}\n\ndata: {"choices":[],"us\\u0061ge":{"prompt_tokens":1000,"completion_tokens":100}}\n\n`,
    ),
    GPT,
  ],
];

async function billsOf(cases: typeof CASES) {
  const upstream = await startUpstream((_request, res, index) => {
    const bytes = cases[index]?.[3] ?? Buffer.alloc(0);
    res.writeHead(200, { 'content-type': bytes.includes('data: {') ? 'text/event-stream' : 'application/json' });
    res.end(bytes);
  });
  const url = `http://127.0.0.1:${upstream.port}`;
  const proxy = await startProxy(upstream, {
    env: { MCP_PRUNER_ANTHROPIC_URL: `${url}/v1`, MCP_PRUNER_GEMINI_URL: url },
  });
  const ids: string[] = [];
  for (const [i, [, wire, model]] of cases.entries()) {
    const text = `Question ${i}`;
    const body =
      wire === 'gemini'
        ? { contents: [{ role: 'user', parts: [{ text }] }] }
        : wire === 'responses'
          ? { model, input: text }
          : { model, max_tokens: 9, messages: [{ role: 'user', content: text }] };
    const answer = await fetch(`${proxy.url}${PATHS[wire]}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await answer.arrayBuffer();
    ids.push(answer.headers.get('x-mcp-pruner-request-id') ?? '');
  }
  await proxy.requestLines(cases.length);
  await proxy.stop();
  const { ledger } = openStore(proxy.dbPath);
  const conversations = await ledger.conversations({ sinceMs: 0, limit: 999 });
  const turns = (
    await Promise.all(conversations.map(({ conversationId }) => ledger.turns({ conversationId, limit: 99 })))
  ).flat();
  return ids.map((id) => turns.find(({ requestId }) => requestId === id)?.dollars);
}

describe('a request is billed as it was served', () => {
  it('in every tier, with searches, reasoning and cost as the answer reports them', async () => {
    const dollars = await billsOf(CASES);
    expect(dollars.map((value, i) => [CASES[i]?.[0], value?.toFixed(7)])).toEqual(
      CASES.map(([name, , , , value]) => [name, value.toFixed(7)]),
    );
  });

  it('and for nothing if the answer is empty', async () => {
    const empty = ['', '   ', 'data: [DONE]\n\n', '{}'].map(
      (text) => [text, 'chat', 'gpt-5', Buffer.from(text), 0] as const,
    );
    expect(await billsOf(empty)).toEqual(empty.map(() => undefined));
  });
});

describe('rows of a price file for ways of serving', () => {
  const file = join(projectRoot, 'config', 'prices.toml');

  it('all have a day and a source, and may be replaced by own rows', () => {
    const { factors, tools, problems, warnings } = readPriceFile(readFileSync(file, 'utf8'));
    expect([problems, warnings, factors.length, tools.length]).toEqual([[], [], 6, 1]);
    const own = '[[factor]]\nserved = "flex"\nfactor = 0.4\nday = "2026-11-29"\nsource = "contract"\n';
    const prices = new Prices([
      { path: 'own', text: own },
      { path: file, text: readFileSync(file, 'utf8') },
    ]);
    const gpt = prices.of('gpt-5', Date.UTC(2026, 10, 29));
    expect(pricing(gpt, { model: 'gpt-5', usage: { served: ['flex'] } }, prices).price?.input).toBeCloseTo(1.25 * 0.4);
    expect(prices.problems).toEqual([]);
  });

  it('are left out if they are broken, with the reason', () => {
    const path = join(tempFolder(), 'own.toml');
    writeFileSync(path, '[[factor]]\nserved = "flex"\nfactor = -1\nday = "2026-11-29"\nsource = "x"\n');
    expect(readPriceFile(readFileSync(path, 'utf8'))).toMatchObject({
      factors: [],
      problems: [expect.stringMatching(/^factor\.0\.factor: /)],
    });
  });
});

it('an answer that cannot be decoded is not taken for an empty one', () => {
  const reader = new AnswerReader();
  reader.data(sse(content));
  expect(reader.end().isEmpty).toBe(false);
});
