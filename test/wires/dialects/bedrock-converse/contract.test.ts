import { bedrockConverse } from '../../../../src/wires/dialects/bedrock-converse/dialect.ts';
import { describeDialect, type Turn } from '../../../contract/dialect.suite.ts';
import { awsFrame } from '../../../helpers/aws.ts';

type Block = Readonly<Record<string, unknown>>;
interface Message {
  readonly role: string;
  readonly content: readonly Block[];
}

function messagesOf(turns: readonly Turn[]): Message[] {
  return turns.map((turn): Message => {
    if ('user' in turn) return { role: 'user', content: [{ text: turn.user }] };
    if ('results' in turn) {
      const content = turn.results.map(({ id, text }) => ({
        toolResult: { toolUseId: id, content: [{ text }], status: 'success' },
      }));
      return { role: 'user', content };
    }
    const calls = turn.calls.map(({ id, name, args }) => ({ toolUse: { toolUseId: id, name, input: args } }));
    const said = turn.said === '' ? [] : [{ text: turn.said }];
    const reasoning = { reasoningText: { text: 'Hm. A text that is never cut.', signature: 'c2lnbmVk' } };
    return { role: 'assistant', content: [{ reasoningContent: reasoning }, ...said, ...calls] };
  });
}

function bodyOf(messages: readonly Message[], behind: object = {}): Buffer {
  const toolConfig = { tools: [{ toolSpec: { name: 'bash', inputSchema: { json: { type: 'object' } } } }] };
  const system = [{ text: 'You are an agent.' }, { cachePoint: { type: 'default' } }];
  return Buffer.from(JSON.stringify({ system, toolConfig, inferenceConfig: { maxTokens: 9 }, messages, ...behind }));
}

/** A place for the cache behind each message, as the newest one of every request has it. */
function marked({ role, content }: Message): Message {
  return { role, content: [...content, { cachePoint: { type: 'default' } }] };
}

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, reversed(inner)] as const);
  return Object.fromEntries(entries.reverse());
}

const usage = {
  inputTokens: 30,
  outputTokens: 41,
  totalTokens: 1_041,
  cacheReadInputTokens: 900,
  cacheWriteInputTokens: 70,
};
const counted = { promptTokens: 1_000, completionTokens: 41, cachedTokens: 900, cacheWriteTokens: 70 };
const message = { role: 'assistant', content: [{ text: '"usage": {"outputTokens": 9}' }] };
const stream = Buffer.concat([
  awsFrame('messageStart', { role: 'assistant' }),
  awsFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: '"usage": {"outputTokens": 9}' } }),
  awsFrame('messageStop', { stopReason: 'end_turn' }),
  awsFrame('metadata', { usage, metrics: { latencyMs: 9 } }),
]);

describeDialect({
  dialect: bedrockConverse,
  claims: [
    ['POST', '/model/anthropic.claude-sonnet-4-5-v1%3A0/converse', 'generate'],
    ['POST', '/model/amazon.nova-pro-v1%3A0/converse-stream', 'generate'],
    ['GET', '/model/m/converse', null],
    ['POST', '/model/m/invoke', null],
    ['POST', '/v1/model/m/converse', null],
  ],
  body: (turns, behind) => bodyOf(messagesOf(turns), behind),
  respelled: (turns) => [
    bodyOf(messagesOf(turns).map(marked)),
    bodyOf(messagesOf(turns).map((one) => reversed(one) as Message)),
  ],
  ambiguous: (text) => {
    const json = JSON.stringify(text);
    const call = '{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"bash","input":{}}}]}';
    const of = (fields: string): Buffer => Buffer.from(`{"messages":[${call},{${fields}}]}`);
    const result = (fields: string): Buffer => of(`"role":"user","content":[{"toolResult":{${fields}}}]`);
    return [
      ['two contents of a result', result(`"toolUseId":"c","content":[{"text":${json}}],"content":[]`)],
      ['two ids of a result', result(`"toolUseId":"c","toolUseId":"d","content":[{"text":${json}}]`)],
      ['two texts of a piece', result(`"toolUseId":"c","content":[{"text":${json},"text":"b"}]`)],
      ['two kinds of a piece', result(`"toolUseId":"c","content":[{"text":${json},"json":{}}]`)],
      ['one field twice in a piece of JSON', result(`"toolUseId":"c","content":[{"json":{"a":${json},"a":"b"}}]`)],
      [
        'two kinds of a block',
        of(`"role":"user","content":[{"text":"b","toolResult":{"content":[{"text":${json}}]}}]`),
      ],
      ['two roles', of(`"role":"user","role":"system","content":[{"toolResult":{"content":[{"text":${json}}]}}]`)],
      ['two contents', of(`"role":"user","content":[{"toolResult":{"content":[{"text":${json}}]}}],"content":[]`)],
    ];
  },
  many: (count) => Buffer.from(`{"messages":[${'1,'.repeat(count - 1)}1]}`),
  answers: [
    {
      name: 'a whole answer',
      bytes: Buffer.from(JSON.stringify({ output: { message }, usage, stopReason: 'end_turn' })),
      usage: counted,
    },
    { name: 'a stream', bytes: stream, usage: counted },
    { name: 'a stream that breaks off', bytes: stream.subarray(0, -9), usage: null },
    {
      name: 'an answer without caches',
      bytes: Buffer.from('{"usage":{"inputTokens":5,"outputTokens":2,"totalTokens":7}}'),
      usage: { promptTokens: 5, completionTokens: 2, cachedTokens: null },
    },
    { name: 'an error', bytes: Buffer.from('{"message":"Too many requests"}'), usage: null },
    { name: 'something else', bytes: Buffer.from('<html>'), usage: null },
    { name: 'bytes that are no frames', bytes: Buffer.alloc(100), usage: null },
  ],
});
