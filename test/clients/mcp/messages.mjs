const usage = { input_tokens: 1000, output_tokens: 50 };

function blockText({ content }) {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? part.tool_name ?? '').join('\n');
}

function blocks({ text, calls }, id) {
  return [
    { type: 'text', text },
    ...calls.map(({ name, args }, i) => ({ type: 'tool_use', id: `toolu_${id}_${i}`, name, input: args })),
  ];
}

function message(said, id, model) {
  const stop_reason = said.calls.length > 0 ? 'tool_use' : 'end_turn';
  const base = { id: `msg_${id}`, type: 'message', role: 'assistant', model, stop_sequence: null, usage };
  return { ...base, stop_reason, content: blocks(said, id) };
}

function blockEvents(block, index) {
  const call = block.type === 'tool_use';
  const opened = call ? { ...block, input: {} } : { ...block, text: '' };
  const delta = call
    ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
    : { type: 'text_delta', text: block.text };
  return [
    { type: 'content_block_start', index, content_block: opened },
    { type: 'content_block_delta', index, delta },
    { type: 'content_block_stop', index },
  ];
}

/** Anthropic's `/v1/messages`, as far as Claude Code needs it. */
export const messagesDialect = {
  read({ tools, messages }) {
    const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    return {
      tools: (tools ?? []).map(({ name }) => ({ name })),
      results: parts.filter((part) => part.type === 'tool_result').map(blockText),
      isTask: Array.isArray(tools) && tools.length > 0,
    };
  },
  plain: message,
  stream(said, id, model) {
    const whole = message(said, id, model);
    return [
      { type: 'message_start', message: { ...whole, content: [], stop_reason: null } },
      ...whole.content.flatMap(blockEvents),
      { type: 'message_delta', delta: { stop_reason: whole.stop_reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ];
  },
};
