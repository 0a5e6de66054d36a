/** What a prompt cache would have made of it is not played. */
const usage = { input_tokens: 1000, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 50 };

function resultText({ content }) {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? part.tool_name ?? '').join('\n');
}

/** A message as messages of a chat: its texts, each result by itself, its calls. */
function asChat({ role, content }) {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const text = blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
  const calls = blocks
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } }));
  const results = blocks
    .filter(({ type }) => type === 'tool_result')
    .map((block) => ({ role: 'tool', tool_call_id: block.tool_use_id, content: resultText(block) }));
  const rest = text === '' && calls.length === 0 ? [] : [{ role, content: text, tool_calls: calls }];
  return [...results, ...rest];
}

function message({ id, model, text, calls }) {
  return {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [
      { type: 'text', text },
      ...calls.map((call) => ({ type: 'tool_use', id: call.id, name: call.name, input: call.args })),
    ],
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage,
  };
}

function blockEvents(block, index) {
  const call = block.type === 'tool_use';
  const opened = call ? { ...block, input: {} } : { ...block, text: '' };
  const json = call ? JSON.stringify(block.input) : block.text;
  const half = Math.ceil(json.length / 2);
  const deltas = [json.slice(0, half), json.slice(half)].map((piece) =>
    call ? { type: 'input_json_delta', partial_json: piece } : { type: 'text_delta', text: piece },
  );
  return [
    { type: 'content_block_start', index, content_block: opened },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
}

/** `/v1/messages`, and the paths that Vertex AI and Bedrock have instead; Bedrock says in the path whether it streams. */
export const messages = {
  name: 'messages',
  path: /\/messages$|:(?:streamR|r)awPredict$|\/invoke(?:-with-response-stream)?$/,
  list: 'messages',
  read: (body) => ({
    tools: (body.tools ?? []).map(({ name, input_schema }) => ({ function: { name, parameters: input_schema } })),
    messages: (body.messages ?? []).flatMap(asChat),
  }),
  streams: (path) => (/\/invoke/.test(path) ? path.endsWith('-stream') : undefined),
  plain: message,
  events(turn) {
    const whole = message(turn);
    const [first, ...rest] = whole.content.flatMap(blockEvents);
    return [
      {
        type: 'message_start',
        message: { ...whole, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
      },
      first,
      { type: 'ping' },
      ...rest,
      {
        type: 'message_delta',
        delta: { stop_reason: whole.stop_reason, stop_sequence: null },
        usage: { output_tokens: usage.output_tokens },
      },
      { type: 'message_stop' },
    ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  },
};
