const usage = {
  input_tokens: 1000,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 50,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 1050,
};

function outputText({ output }) {
  if (typeof output === 'string') return output;
  if (Array.isArray(output)) return output.map((part) => part.text ?? '').join('\n');
  return JSON.stringify(output ?? '');
}

/** Tools as they are called: those of an MCP server stand in a namespace. */
function toolsOf(tools = []) {
  return tools.flatMap((tool) =>
    tool.type === 'namespace'
      ? tool.tools.map(({ name }) => ({ name, namespace: tool.name }))
      : [{ name: tool.name ?? tool.type }],
  );
}

function items({ text, calls }, id) {
  const message = {
    type: 'message',
    id: `msg_${id}`,
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
  const made = calls.map(({ name, namespace, args }, i) => ({
    type: 'function_call',
    id: `fc_${id}_${i}`,
    call_id: `call_${id}_${i}`,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    arguments: JSON.stringify(args),
    status: 'completed',
  }));
  return [message, ...made];
}

function response(said, id, model) {
  return {
    id: `resp_${id}`,
    object: 'response',
    created_at: 1_700_000_000,
    status: 'completed',
    model,
    output: items(said, id),
    usage,
  };
}

/** OpenAI's `/v1/responses`, as far as Codex needs it. */
export const responsesDialect = {
  read({ tools, input }) {
    const list = Array.isArray(input) ? input : [];
    const extra = list.flatMap((item) => (Array.isArray(item.tools) ? item.tools : []));
    return {
      tools: toolsOf([...(tools ?? []), ...extra]),
      results: list.filter((item) => item.type === 'function_call_output').map(outputText),
      isTask: Array.isArray(tools) && tools.length > 0,
    };
  },
  plain: response,
  stream(said, id, model) {
    const done = response(said, id, model);
    return [
      { type: 'response.created', response: { ...done, status: 'in_progress', output: [] } },
      ...done.output.flatMap((item, index) => [
        { type: 'response.output_item.added', output_index: index, item },
        { type: 'response.output_item.done', output_index: index, item },
      ]),
      { type: 'response.completed', response: done },
    ];
  },
};
