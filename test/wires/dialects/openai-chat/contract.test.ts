import { openaiChat } from '../../../../src/wires/dialects/openai-chat/dialect.ts';
import { describeDialect, type Turn } from '../../../contract/dialect.suite.ts';

type Message = Readonly<Record<string, unknown>>;

function messagesOf(turns: readonly Turn[]): Message[] {
  return turns.flatMap((turn): Message[] => {
    if ('user' in turn) return [{ role: 'user', content: turn.user }];
    if ('results' in turn)
      return turn.results.map(({ id, text }) => ({ role: 'tool', tool_call_id: id, content: text }));
    const calls = turn.calls.map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }));
    return [{ role: 'assistant', content: turn.said, ...(calls.length > 0 && { tool_calls: calls }) }];
  });
}

function bodyOf(messages: readonly Message[], behind: object = {}): Buffer {
  return Buffer.from(JSON.stringify({ model: 'gpt-test', messages, ...behind }));
}

/** The text as the only part of a list, with a mark for the provider's cache. */
function asParts(message: Message): Message {
  const part = { type: 'text', text: message.content, cache_control: { type: 'ephemeral' } };
  return { ...message, content: [part] };
}

const usage = { prompt_tokens: 120, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 64 } };
const counted = { promptTokens: 120, completionTokens: 7, cachedTokens: 64 };

describeDialect({
  dialect: openaiChat,
  claims: [
    ['POST', '/v1/chat/completions', 'generate'],
    ['POST', '/v1/openai/chat/completions', 'generate'],
    ['POST', '/chat/completions', 'generate'],
    ['GET', '/v1/chat/completions', null],
    ['POST', '/v1/messages', null],
    ['POST', '/other/chat/completions', null],
  ],
  body: (turns, behind) => bodyOf(messagesOf(turns), behind),
  respelled: (turns) => [
    bodyOf(messagesOf(turns).map(asParts)),
    bodyOf(messagesOf(turns).map((message) => Object.fromEntries(Object.entries(message).reverse()))),
    bodyOf([{ role: 'system', content: 'Today is Monday.' }, ...messagesOf(turns)]),
    Buffer.from(JSON.stringify({ messages: messagesOf(turns), model: 'other' }, null, 2)),
  ],
  ambiguous: (text) => {
    const call = '{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"bash","arguments":"{}"}}]}';
    const json = JSON.stringify(text);
    const result = (fields: string): Buffer => Buffer.from(`{"messages":[${call},{${fields}}]}`);
    return [
      ['two contents', result(`"role":"tool","tool_call_id":"c","content":${json},"content":"b"`)],
      ['two roles', result(`"role":"tool","role":"system","tool_call_id":"c","content":${json}`)],
      ['two ids', result(`"role":"tool","tool_call_id":"c","tool_call_id":"d","content":${json}`)],
      [
        'two texts in a part',
        result(`"role":"tool","tool_call_id":"c","content":[{"type":"text","text":${json},"text":"b"}]`),
      ],
    ];
  },
  many: (count) => Buffer.from(`{"messages":[${'1,'.repeat(count - 1)}1]}`),
  answers: [
    { name: 'a whole answer', bytes: Buffer.from(JSON.stringify({ choices: [], usage })), usage: counted },
    {
      name: 'a stream',
      bytes: Buffer.from(
        `data: {"choices":[{"delta":{"content":"usage"}}],"usage":null}\n\ndata: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`,
      ),
      usage: counted,
    },
    { name: 'an answer without any', bytes: Buffer.from('{"choices":[]}'), usage: null },
    { name: 'something else', bytes: Buffer.from('<html>'), usage: null },
  ],
});
