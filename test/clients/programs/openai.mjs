import OpenAI from 'openai';
import { descriptions, finish, schemas, settings, tools } from './tools.mjs';

const client = new OpenAI({ baseURL: settings.baseURL, apiKey: settings.apiKey, maxRetries: 0 });
const model = 'scripted';
const declared = Object.keys(tools).map((name) => ({
  type: 'function',
  function: { name, description: descriptions[name], parameters: schemas[name] },
}));

/** One answer of the model, streamed by hand, with the deltas put together. */
async function streamed(messages) {
  const stream = await client.chat.completions.create({
    model,
    messages,
    tools: declared,
    stream: true,
    stream_options: { include_usage: true },
  });
  let content = '';
  const calls = [];
  for await (const chunk of stream) {
    const delta = chunk.choices[0]?.delta;
    content += delta?.content ?? '';
    for (const part of delta?.tool_calls ?? []) {
      calls[part.index] ??= { id: part.id, type: 'function', function: { name: part.function.name, arguments: '' } };
      calls[part.index].function.arguments += part.function.arguments ?? '';
    }
  }
  return { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
}

/** One answer of the model, by the helper that gathers a stream. */
async function gathered(messages) {
  const { choices } = await client.chat.completions.stream({ model, messages, tools: declared }).finalChatCompletion();
  return choices[0].message;
}

async function plain(messages) {
  const { choices } = await client.chat.completions.create({ model, messages, tools: declared });
  return choices[0].message;
}

/** The loop that most agents write for themselves. */
async function loop(messages, ask, shape) {
  for (let turn = 0; turn < 10; turn++) {
    const message = await ask(messages);
    messages.push(message);
    if (!message.tool_calls?.length) return message.content;
    for (const call of message.tool_calls) {
      const text = tools[call.function.name](JSON.parse(call.function.arguments));
      messages.push({ role: 'tool', tool_call_id: call.id, content: shape(text) });
    }
  }
  throw new Error('the model never came to an end');
}

async function toolRunner(messages) {
  const runnable = Object.keys(tools).map((name) => ({
    type: 'function',
    function: {
      name,
      description: descriptions[name],
      parameters: schemas[name],
      parse: JSON.parse,
      function: tools[name],
    },
  }));
  const stream = settings.mode === 'runner-stream';
  return client.chat.completions.runTools({ model, messages, tools: runnable, stream }).finalContent();
}

const asString = (text) => text;
const asParts = (text) => [{ type: 'text', text }];
const start = () => [
  { role: 'system', content: 'You are a careful engineer.' },
  { role: 'user', content: settings.task },
];

const modes = {
  plain: () => loop(start(), plain, asString),
  stream: () => loop(start(), streamed, asString),
  'stream-helper': () => loop(start(), gathered, asString),
  parts: () => loop(start(), plain, asParts),
  runner: () => toolRunner(start()),
  'runner-stream': () => toolRunner(start()),
  // A second question must not change what was sent for the first one.
  'two-turns': async () => {
    const messages = start();
    await loop(messages, plain, asString);
    messages.push({ role: 'user', content: settings.followUp });
    return loop(messages, plain, asString);
  },
};

finish(await modes[settings.mode]());
