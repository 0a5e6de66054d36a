const usage = {
  input_tokens: 1000,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 50,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 1050,
};

function textOfParts(content) {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map((part) => part.text ?? '').join('\n');
  return content === undefined || content === null ? '' : JSON.stringify(content);
}

/** Item ids of calls hold the call's own id, so that a reference to one tells which it was. */
const CALL_ITEM = 'fc_';

/** An item as a message of a chat. */
function asChat(item) {
  const { type = 'message', role, content, call_id: id, output } = item;
  if (type === 'message') return [{ role: role === 'developer' ? 'system' : role, content: textOfParts(content) }];
  if (/_call_output$/.test(type)) return [{ role: 'tool', tool_call_id: id, content: textOfParts(output) }];
  if (type === 'function_call' || type === 'custom_tool_call') {
    const { name, arguments: args = item.input } = item;
    return [
      { role: 'assistant', content: '', tool_calls: [{ id, type: 'function', function: { name, arguments: args } }] },
    ];
  }
  if (type === 'item_reference' && item.id.startsWith(CALL_ITEM)) {
    const made = { id: item.id.slice(CALL_ITEM.length), type: 'function', function: { name: '', arguments: '{}' } };
    return [{ role: 'assistant', content: '', tool_calls: [made] }];
  }
  return []; // reasoning and the like
}

/** Tools as they are called: those of an MCP server may stand in a namespace. */
function toolsOf(tools) {
  return tools.flatMap((tool) =>
    tool.type === 'namespace'
      ? tool.tools.map(({ name, parameters }) => ({ function: { name, parameters, namespace: tool.name } }))
      : [{ function: { name: tool.name ?? tool.type, parameters: tool.parameters } }],
  );
}

function itemsOf({ id, text, calls }) {
  const message = {
    id: `msg_${id}`,
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  };
  const made = calls.map(({ id: callId, name, namespace, args }) => ({
    id: `${CALL_ITEM}${callId}`,
    type: 'function_call',
    status: 'completed',
    call_id: callId,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    arguments: JSON.stringify(args),
  }));
  return [message, ...made];
}

function response(turn, status = 'completed') {
  const done = status === 'completed';
  return {
    id: `resp_${turn.id}`,
    object: 'response',
    created_at: 1_700_000_000,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    model: turn.model,
    output: done ? itemsOf(turn) : [],
    parallel_tool_calls: true,
    previous_response_id: null,
    store: false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: done ? { ...usage, ...turn.usage } : null,
    metadata: {},
  };
}

function itemEvents(item, output_index) {
  const at = { output_index, item_id: item.id };
  const opened = { ...item, status: 'in_progress' };
  if (item.type === 'function_call') {
    return [
      { type: 'response.output_item.added', output_index, item: { ...opened, arguments: '' } },
      { type: 'response.function_call_arguments.delta', ...at, delta: item.arguments },
      { type: 'response.function_call_arguments.done', ...at, name: item.name, arguments: item.arguments },
      { type: 'response.output_item.done', output_index, item },
    ];
  }
  const [part] = item.content;
  const inside = { ...at, content_index: 0 };
  return [
    { type: 'response.output_item.added', output_index, item: { ...opened, content: [] } },
    { type: 'response.content_part.added', ...inside, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...inside, delta: part.text, logprobs: [] },
    { type: 'response.output_text.done', ...inside, text: part.text, logprobs: [] },
    { type: 'response.content_part.done', ...inside, part },
    { type: 'response.output_item.done', output_index, item },
  ];
}

/** `/v1/responses`. */
export const responses = {
  name: 'responses',
  path: /\/responses$/,
  list: 'input',
  read({ tools = [], input }) {
    const items = typeof input === 'string' ? [{ role: 'user', content: input }] : (input ?? []);
    // clients in "code mode" declare tools as an item
    const further = items.flatMap((item) => (Array.isArray(item.tools) ? item.tools : []));
    return { tools: toolsOf([...tools, ...further]), messages: items.flatMap(asChat) };
  },
  plain: (turn) => response(turn),
  events(turn) {
    const done = response(turn);
    const begun = response(turn, 'in_progress');
    return [
      { type: 'response.created', response: begun },
      { type: 'response.in_progress', response: begun },
      ...done.output.flatMap(itemEvents),
      { type: 'response.completed', response: done },
    ].map(({ type, ...event }, sequence_number) => {
      return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...event })}\n\n`;
    });
  },
};
