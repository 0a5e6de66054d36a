import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import { bedrockConverse } from '../../src/wires/dialects/bedrock-converse/dialect.ts';
import type { AnswerError, Dialect, ProviderUsage } from '../../src/wires/dialects/dialect.ts';
import { googleGemini } from '../../src/wires/dialects/google-gemini/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { awsFrame } from '../helpers/aws.ts';

/** An answer, and what a reader must report of it. Fields that are absent are not reported. */
export interface AnswerCase {
  readonly name: string;
  readonly dialect: Dialect;
  readonly bytes: Buffer;
  readonly usage: Partial<ProviderUsage> | null;
  readonly error?: AnswerError;
  readonly id?: string;
  readonly calls?: Readonly<Record<string, number>>;
  readonly prefixMismatches?: number;
}

export type Event = Readonly<Record<string, unknown>>;

/** Server-sent events without names. */
export function dataOf(...events: readonly Event[]): Buffer {
  return Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
}

/** Server-sent events named by their type. `only`: the type stands in the name alone. */
export function named(events: readonly Event[], where: 'first' | 'last' | 'only'): Buffer {
  const lines = events.map(({ type, ...rest }) => {
    const data = where === 'first' ? { type, ...rest } : where === 'last' ? { ...rest, type } : rest;
    return `event: ${String(type)}\ndata: ${JSON.stringify(data)}\n\n`;
  });
  return Buffer.from(lines.join(''));
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const delta = (content: string): Event => ({ choices: [{ index: 0, delta: { content } }], usage: null });
const HEARTBEATS = Array.from({ length: 700 }, () => delta(' '.repeat(10)));
const WORDS = [delta('He said "usage": {"prompt_tokens": 9}. é 😀'), delta('data: {"usage":{"prompt_tokens":8}}\n\n')];
const LONG = 'lines of an answer that is longer than what is kept\n'.repeat(3_000);

const chatUsage = { prompt_tokens: 120, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 64 } };
const chatFigures = { promptTokens: 120, completionTokens: 7, cachedTokens: 64 };

const chat: readonly Omit<AnswerCase, 'dialect'>[] = [
  { name: 'usage in the last chunk', bytes: dataOf(...WORDS, { choices: [], usage: chatUsage }), usage: chatFigures },
  {
    name: 'usage in the last chunk but one',
    bytes: Buffer.concat([
      dataOf(...WORDS, { choices: [], usage: chatUsage }, delta('')),
      Buffer.from('data: [DONE]\n\n'),
    ]),
    usage: chatFigures,
  },
  { name: 'usage before the content', bytes: dataOf({ choices: [], usage: chatUsage }, ...WORDS), usage: chatFigures },
  {
    name: 'usage in every chunk, as a running total',
    bytes: dataOf(
      ...[1, 4, 7].map((completion_tokens) => ({ ...delta('a'), usage: { ...chatUsage, completion_tokens } })),
    ),
    usage: chatFigures,
  },
  {
    name: 'usage followed by zeros',
    bytes: dataOf({ usage: chatUsage }, { usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }),
    usage: chatFigures,
  },
  { name: 'usage before 28 KB of heartbeats', bytes: dataOf({ usage: chatUsage }, ...HEARTBEATS), usage: chatFigures },
  {
    name: 'the usage of Kimi, with cached tokens beside it',
    bytes: dataOf({ choices: [], usage: { prompt_tokens: 100_000, completion_tokens: 10, cached_tokens: 98_000 } }),
    usage: { promptTokens: 100_000, completionTokens: 10, cachedTokens: 98_000 },
  },
  {
    name: 'the usage of Kimi, in a choice',
    bytes: dataOf({ choices: [{ delta: {}, usage: { prompt_tokens: 9, completion_tokens: 2, cached_tokens: 4 } }] }),
    usage: { promptTokens: 9, completionTokens: 2, cachedTokens: 4 },
  },
  {
    name: 'the cache hits of DeepSeek',
    bytes: dataOf({ usage: { prompt_tokens: 9, completion_tokens: 2, prompt_cache_hit_tokens: 4 } }),
    usage: { promptTokens: 9, completionTokens: 2, cachedTokens: 4 },
  },
  {
    name: 'the usage of Groq, beside its own figures',
    bytes: dataOf({ choices: [], x_groq: { usage: chatUsage } }),
    usage: chatFigures,
  },
  {
    name: 'cache writes for twelve hours',
    bytes: json({
      usage: {
        ...{ prompt_tokens: 100, completion_tokens: 1 },
        prompt_tokens_details: { cache_write_tokens: 60, cache_write_tokens_details: { ttl_12h_tokens: 50 } },
      },
    }),
    usage: { promptTokens: 100, completionTokens: 1, cacheWriteTokens: 60, cacheWrite1hTokens: 50 },
  },
  {
    name: 'the cache writes of a gateway for Claude',
    bytes: dataOf({
      usage: { prompt_tokens: 100, completion_tokens: 1, cache_creation_input_tokens: 60, cache_read_input_tokens: 30 },
    }),
    usage: { promptTokens: 100, completionTokens: 1, cachedTokens: 30, cacheWriteTokens: 60 },
  },
  {
    name: 'the cache writes of a gateway, in the details',
    bytes: json({
      usage: { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: { cache_creation_tokens: 60 } },
    }),
    usage: { promptTokens: 100, completionTokens: 1, cacheWriteTokens: 60 },
  },
  {
    name: 'the usage of a gateway that leaves cached tokens out of the input',
    bytes: json({ usage: { prompt_tokens: 5, completion_tokens: 1, cache_read_input_tokens: 900 } }),
    usage: { promptTokens: 905, completionTokens: 1, cachedTokens: 900 },
  },
  {
    name: 'blanks before a body',
    bytes: Buffer.concat([Buffer.from('\n\n  \r\n'), json({ usage: chatUsage })]),
    usage: chatFigures,
  },
  {
    name: 'a long body',
    bytes: json({
      id: 'x',
      choices: [{ message: { content: LONG, tool_calls: [{ id: 'c', function: { name: 'read', arguments: '{}' } }] } }],
      usage: chatUsage,
    }),
    usage: chatFigures,
    calls: { read: 1 },
  },
  { name: 'a long event', bytes: dataOf({ ...delta(LONG), usage: chatUsage }, delta('')), usage: chatFigures },
  {
    name: 'an error as the first event',
    bytes: dataOf({ error: { message: 'overloaded', type: 'server_error' } }),
    usage: null,
    error: 'failed',
  },
  {
    name: 'an error as the body',
    bytes: json({ error: { message: 'no', type: 'BadRequestError', code: 400 } }),
    usage: null,
    error: 'refused',
  },
  {
    name: 'an error after its usage',
    bytes: dataOf(...WORDS, { usage: chatUsage }, { error: { code: 429, message: 'slow down' } }),
    usage: chatFigures,
    error: 'limited',
  },
  {
    name: 'calls',
    bytes: dataOf(
      { choices: [{ delta: { tool_calls: [{ index: 0, id: 'a', function: { name: 'bash', arguments: '' } }] } }] },
      { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: '{"name": "no"}' } }] } }] },
      { choices: [{ delta: { tool_calls: [{ index: 1, id: 'b', function: { name: 'bash', arguments: '' } }] } }] },
    ),
    usage: null,
    calls: { bash: 2 },
  },
];

const start = { input_tokens: 700, cache_read_input_tokens: 4_000, cache_creation_input_tokens: 0, output_tokens: 1 };
const messagesFigures = { promptTokens: 4_700, completionTokens: 41, cachedTokens: 4_000, cacheWriteTokens: 0 };
const begun = (usage: object, more: Event = {}): Event => ({
  type: 'message_start',
  message: { id: 'msg_1', usage, ...more },
});
const ended = (usage: object): Event => ({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage });
const said: readonly Event[] = [
  {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: '"type":"message_delta","usage":{"output_tokens":9}' },
  },
  {
    type: 'content_block_start',
    index: 1,
    content_block: { type: 'tool_use', id: 'toolu_1', name: 'Read', input: {} },
  },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"name":"no"}' } },
];
const messageEvents = [begun(start), ...said, ended({ output_tokens: 41 })];

const messages: readonly Omit<AnswerCase, 'dialect'>[] = [
  ...(['first', 'last', 'only'] as const).map((where) => ({
    name: `a stream whose types stand ${where}`,
    bytes: named(messageEvents, where),
    usage: messagesFigures,
    id: 'msg_1',
    calls: { Read: 1 },
  })),
  {
    name: 'a last event with zeros',
    bytes: named([begun(start), ended({ input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 41 })], 'first'),
    usage: messagesFigures,
  },
  {
    name: 'an input that is estimated in the first event',
    bytes: named([begun({ input_tokens: 4_600, output_tokens: 0 }), ended({ ...start, output_tokens: 41 })], 'first'),
    usage: messagesFigures,
  },
  {
    name: 'a compaction by the provider',
    bytes: json({
      usage: {
        input_tokens: 23_000,
        output_tokens: 1_000,
        iterations: [
          { type: 'compaction', input_tokens: 180_000, output_tokens: 3_500, cache_read_input_tokens: 0 },
          { type: 'message', input_tokens: 23_000, output_tokens: 1_000 },
        ],
      },
    }),
    usage: {
      promptTokens: 23_000,
      completionTokens: 1_000,
      besides: { input: 180_000, output: 3_500, read: 0, written: 0, written1h: 0 },
    },
  },
  {
    name: 'writes of both lifetimes',
    bytes: json({
      usage: {
        ...{ input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: 30 },
        cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      },
    }),
    usage: { promptTokens: 31, completionTokens: 2, cacheWriteTokens: 30, cacheWrite1hTokens: 20 },
  },
  {
    name: 'dropped blocks',
    bytes: named(
      [
        begun(start, {
          input_transformations: [
            { type: 'thinking_dropped', reason: 'prefix_binding_mismatch', path: 'messages.1.content.0' },
            { type: 'thinking_dropped', reason: 'model_binding_mismatch', path: 'messages.3.content.0' },
          ],
        }),
        ended({ output_tokens: 41 }),
      ],
      'last',
    ),
    usage: messagesFigures,
    prefixMismatches: 1,
  },
  {
    name: 'a body after blanks',
    bytes: Buffer.concat([Buffer.from('\n\n'), json({ type: 'message', usage: { ...start, output_tokens: 41 } })]),
    usage: messagesFigures,
  },
  {
    name: 'an overloaded provider',
    bytes: named([{ type: 'error', error: { type: 'overloaded_error', message: 'x' } }], 'last'),
    usage: null,
    error: 'overloaded',
  },
  {
    name: 'a refusal',
    bytes: named([{ type: 'error', error: { type: 'invalid_request_error' } }], 'only'),
    usage: null,
    error: 'refused',
  },
  {
    name: 'an error in mid-stream',
    bytes: named([begun(start), ...said, { type: 'error', error: { type: 'overloaded_error' } }], 'first'),
    usage: { ...messagesFigures, completionTokens: 1 },
    error: 'overloaded',
  },
  {
    name: 'frames of Bedrock',
    bytes: Buffer.concat(messageEvents.map((event) => awsFrame('chunk', { bytes: json(event).toString('base64') }))),
    usage: messagesFigures,
  },
];

const responsesUsage = {
  input_tokens: 120,
  input_tokens_details: {
    cached_tokens: 64,
    cache_write_tokens: 40,
    cache_write_tokens_details: { ttl_12h_tokens: 30 },
  },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 5 },
};
const responsesFigures = {
  ...{ promptTokens: 120, completionTokens: 7, cachedTokens: 64, reasoningTokens: 5 },
  ...{ cacheWriteTokens: 40, cacheWrite1hTokens: 30 },
};
const call = { type: 'function_call', call_id: 'c', name: 'bash', arguments: '{"command":"ls"}' };
const TOOLS = [{ type: 'function', name: 'never', description: LONG.slice(0, 90_000) }];
const responseEvents: readonly Event[] = [
  { type: 'response.created', response: { id: 'resp_1', usage: null, error: null } },
  { type: 'response.output_text.delta', delta: '"usage":{"input_tokens":1}' },
  { type: 'response.output_item.done', item: call },
  {
    type: 'response.completed',
    response: { id: 'resp_1', error: null, tools: TOOLS, output: [call], usage: responsesUsage },
  },
];

const responses: readonly Omit<AnswerCase, 'dialect'>[] = [
  ...(['first', 'last', 'only'] as const).map((where) => ({
    name: `a stream whose types stand ${where}`,
    bytes: named(responseEvents, where),
    usage: responsesFigures,
    id: 'resp_1',
    calls: { bash: 1 },
  })),
  {
    name: 'a whole answer',
    bytes: json({ id: 'resp_2', output: [call], usage: responsesUsage }),
    usage: responsesFigures,
    id: 'resp_2',
    calls: { bash: 1 },
  },
  {
    name: 'a response that failed',
    bytes: named(
      [{ type: 'response.failed', response: { id: 'r', error: { code: 'server_error' }, usage: null } }],
      'last',
    ),
    usage: null,
    error: 'failed',
  },
  {
    name: 'an error event without an object, named in its line',
    bytes: named([{ type: 'error', code: 'rate_limit_exceeded', message: 'x' }], 'only'),
    usage: null,
    error: 'limited',
  },
  {
    name: 'an error event without an object',
    bytes: named([{ type: 'error', code: 'rate_limit_exceeded', message: 'x' }], 'first'),
    usage: null,
    error: 'limited',
  },
  {
    name: 'dropped reasoning',
    bytes: json({
      id: 'r',
      input_transformations: [
        { id: 'rs_1', action: 'removed', reason: 'prefix_mismatch', type: 'reasoning' },
        { id: 'rs_2', action: 'removed', reason: 'turn_boundary', type: 'reasoning' },
      ],
      usage: responsesUsage,
    }),
    usage: responsesFigures,
    prefixMismatches: 1,
  },
];

const usageMetadata = {
  promptTokenCount: 100,
  toolUsePromptTokenCount: 20,
  cachedContentTokenCount: 64,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 2,
};
const geminiFigures = { promptTokens: 120, completionTokens: 7, reasoningTokens: 2, cachedTokens: 64 };
const part = (text: string): Event => ({
  candidates: [{ content: { parts: [{ text }] } }],
  usageMetadata: { promptTokenCount: 100 },
});

const gemini: readonly Omit<AnswerCase, 'dialect'>[] = [
  {
    name: 'a stream',
    bytes: dataOf(part('a'), { ...part('"usageMetadata": {}'), usageMetadata }),
    usage: geminiFigures,
  },
  {
    name: 'an array',
    bytes: Buffer.from(`[${JSON.stringify(part('a'))},\r\n${JSON.stringify({ usageMetadata })}]`),
    usage: geminiFigures,
  },
  {
    name: 'a long array',
    bytes: json([part(LONG), ...Array.from({ length: 900 }, (_, i) => part(`${i}`.repeat(90))), { usageMetadata }]),
    usage: geminiFigures,
  },
  {
    name: 'calls',
    bytes: json({
      candidates: [{ content: { parts: [{ functionCall: { name: 'fish', args: { name: 'no' } } }] } }],
      usageMetadata,
    }),
    usage: geminiFigures,
    calls: { fish: 1 },
  },
  {
    name: 'an error',
    bytes: json([{ error: { code: 503, status: 'UNAVAILABLE', message: 'x' } }]),
    usage: null,
    error: 'overloaded',
  },
];

const converseUsage = {
  inputTokens: 30,
  outputTokens: 41,
  totalTokens: 1_041,
  cacheReadInputTokens: 900,
  cacheWriteInputTokens: 70,
};
const converseFigures = { promptTokens: 1_000, completionTokens: 41, cachedTokens: 900, cacheWriteTokens: 70 };

const converse: readonly Omit<AnswerCase, 'dialect'>[] = [
  {
    name: 'frames',
    bytes: Buffer.concat([
      awsFrame('messageStart', { role: 'assistant' }),
      awsFrame('contentBlockStart', { start: { toolUse: { toolUseId: 't', name: 'bash' } } }),
      awsFrame('contentBlockDelta', { delta: { text: '"usage": {"outputTokens": 9}' } }),
      awsFrame('metadata', { usage: converseUsage }),
    ]),
    usage: converseFigures,
    calls: { bash: 1 },
  },
  {
    name: 'a whole answer',
    bytes: json({ output: { message: { content: [{ text: LONG }] } }, usage: converseUsage }),
    usage: converseFigures,
  },
];

export const CASES: readonly AnswerCase[] = [
  ...chat.map((one) => ({ ...one, dialect: openaiChat })),
  ...messages.map((one) => ({ ...one, dialect: anthropicMessages })),
  ...responses.map((one) => ({ ...one, dialect: openaiResponses })),
  ...gemini.map((one) => ({ ...one, dialect: googleGemini })),
  ...converse.map((one) => ({ ...one, dialect: bedrockConverse })),
];
