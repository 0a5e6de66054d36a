import { anthropicMessages } from '../../../../src/wires/dialects/anthropic-messages/dialect.ts';
import { describeDialect, type Turn } from '../../../contract/dialect.suite.ts';

type Block = Readonly<Record<string, unknown>>;
interface Message {
  readonly role: string;
  readonly content: string | readonly Block[];
}

function messagesOf(turns: readonly Turn[]): Message[] {
  return turns.map((turn): Message => {
    if ('user' in turn) return { role: 'user', content: [{ type: 'text', text: turn.user }] };
    if ('results' in turn) {
      const content = turn.results.map(({ id, text }) => ({ type: 'tool_result', tool_use_id: id, content: text }));
      return { role: 'user', content };
    }
    const calls = turn.calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }));
    const said = turn.said === '' ? [] : [{ type: 'text', text: turn.said }];
    const thought = { type: 'thinking', thinking: 'Hm. A text that is never told.', signature: 'c2lnbmVk' };
    return { role: 'assistant', content: [thought, ...said, ...calls] };
  });
}

function bodyOf(messages: readonly Message[], behind: object = {}): Buffer {
  const system = [{ type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } }];
  return Buffer.from(JSON.stringify({ model: 'claude-test', max_tokens: 100, system, messages, ...behind }));
}

const cached = { cache_control: { type: 'ephemeral', ttl: '1h' } };

/** The last block marked for the cache, as the newest message of every request has it. */
function marked(message: Message): Message {
  if (typeof message.content === 'string') return message;
  return { ...message, content: message.content.map((block) => ({ ...block, ...cached })) };
}

/** One text as a plain string, as Claude Code spells a message that is no longer the last. */
function plain(message: Message): Message {
  const [only, ...more] = message.content;
  if (typeof only !== 'object' || only.type !== 'text' || more.length > 0) return message;
  return { role: message.role, content: String(only.text) };
}

function resultsAsBlocks(message: Message): Message {
  if (typeof message.content === 'string') return message;
  const content = message.content.map((block) =>
    block.type === 'tool_result' ? { ...block, content: [{ type: 'text', text: block.content }] } : block,
  );
  return { ...message, content };
}

function reversed<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).reverse()) as T;
}

const start = { input_tokens: 30, cache_creation_input_tokens: 70, cache_read_input_tokens: 900, output_tokens: 1 };
const counted = { promptTokens: 1_000, completionTokens: 41, cachedTokens: 900, cacheWriteTokens: 70 };
const event = (value: object): string =>
  `event: ${(value as { type: string }).type}\ndata: ${JSON.stringify(value)}\n\n`;
const stream = [
  { type: 'message_start', message: { id: 'msg_1', type: 'message', content: [], usage: start } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '"usage": {"output_tokens": 9}' } },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 41 } },
  { type: 'message_stop' },
]
  .map(event)
  .join('');

describeDialect({
  dialect: anthropicMessages,
  claims: [
    ['POST', '/v1/messages', 'generate'],
    ['POST', '/v1/messages/count_tokens', 'count'],
    ['POST', '/api/v1/messages', 'generate'],
    ['GET', '/v1/messages', null],
    ['POST', '/v1/messages/batches', null],
    ['POST', '/v1/chat/completions', null],
  ],
  body: (turns, behind) => bodyOf(messagesOf(turns), behind),
  respelled: (turns) => [
    bodyOf(messagesOf(turns).map(marked)),
    bodyOf(messagesOf(turns).map(plain)),
    bodyOf(messagesOf(turns).map(resultsAsBlocks)),
    bodyOf(
      messagesOf(turns).map((message) =>
        reversed({ ...message, content: typeof message.content === 'string' ? '' : message.content.map(reversed) }),
      ),
    ),
    bodyOf(
      messagesOf(turns).flatMap((message, i) =>
        i === 0 ? [message, { role: 'system', content: 'A reminder.' }] : message,
      ),
    ),
  ],
  ambiguous: (text) => {
    const json = JSON.stringify(text);
    const call = '{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"bash","input":{}}]}';
    const message = (fields: string): Buffer => Buffer.from(`{"messages":[${call},{${fields}}]}`);
    const result = (fields: string): Buffer => message(`"role":"user","content":[{"type":"tool_result",${fields}}]`);
    return [
      ['two contents of a result', result(`"tool_use_id":"c","content":${json},"content":"b"`)],
      ['two ids of a result', result(`"tool_use_id":"c","tool_use_id":"d","content":${json}`)],
      ['two types of a block', result(`"type":"image","tool_use_id":"c","content":${json}`)],
      ['two texts in a block', result(`"tool_use_id":"c","content":[{"type":"text","text":${json},"text":"b"}]`)],
      ['two roles', message(`"role":"user","role":"system","content":[{"type":"tool_result","content":${json}}]`)],
      ['two contents', message(`"role":"user","content":[{"type":"tool_result","content":${json}}],"content":"b"`)],
    ];
  },
  many: (count) => Buffer.from(`{"messages":[${'1,'.repeat(count - 1)}1]}`),
  answers: [
    {
      name: 'a whole answer',
      bytes: Buffer.from(JSON.stringify({ type: 'message', usage: { ...start, output_tokens: 41 } })),
      usage: counted,
    },
    { name: 'a stream', bytes: Buffer.from(stream), usage: counted },
    {
      name: 'a stream with the ends of lines that HTTP has',
      bytes: Buffer.from(stream.replaceAll('\n', '\r\n')),
      usage: counted,
    },
    {
      name: 'an answer without caches',
      bytes: Buffer.from('{"usage":{"input_tokens":5,"output_tokens":2}}'),
      usage: { promptTokens: 5, completionTokens: 2, cachedTokens: null },
    },
    { name: 'an error', bytes: Buffer.from('{"type":"error","error":{"type":"overloaded_error"}}'), usage: null },
    { name: 'something else', bytes: Buffer.from('<html>'), usage: null },
  ],
});
