import type { AgentPlan, Json, Wire } from './types.ts';

/** A call that the model made. */
export interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: Json;
}

export interface Result {
  readonly call: Call;
  readonly text: string;
}

/** Everything in a request but the history. */
export interface Head {
  readonly plan: AgentPlan;
  readonly model: string;
  /** The agent's name, in a field that proxies forward. */
  readonly name: string;
}

/** How a client speaks a format. The history is in its own words: messages, items or contents. */
export interface ClientWire {
  path(head: Head): string;
  /** @param previous - id of the answer that the entries continue; `''`: they are the whole history */
  body(head: Head, entries: readonly Json[], previous: string): Json;
  /** @param picture - the user shows a picture too */
  words(text: string, picture: boolean): Json;
  /** @param reminder - the client adds words of its own */
  results(results: readonly Result[], plan: AgentPlan, picture: boolean, reminder: boolean): Json[];
  /** An item of an answer as the client sends it back. */
  answered(item: Json): Json;
  calls(item: Json): Call[];
  /** The same entry in another spelling, as a client writes it that has read it from a file. */
  respelled(entry: Json): Json;
}

/** A tool that every agent declares, with a description long enough to be shortened. */
function toolNamed(name: string): { name: string; description: string; parameters: Json } {
  const target = {
    type: 'string',
    description: 'The path or the command, relative to the root of the project.',
  };
  const description = `Runs ${name}. ${'Use it when the task needs it, and prefer the smallest target that answers the question. '.repeat(8)}`;
  return { name, description, parameters: { type: 'object', properties: { target }, required: ['target'] } };
}

export const TOOLS = ['bash', 'read_file', 'grep', 'list_dir'].map(toolNamed);
const SYSTEM = 'You are a careful engineer. You work in a repository and use the tools that you have.';
const REMINDER = '<system-reminder>The list of tasks is empty.</system-reminder>';
const PICTURE = 'iVBORw0KGgo=';

const messages: ClientWire = {
  path: () => '/v1/messages?beta=true',
  body({ plan, model, name }, entries, previous) {
    const tools = TOOLS.map(({ parameters, ...rest }) => ({ ...rest, input_schema: parameters }));
    const binding = plan.drops ? { block_binding: { prefix_mismatch_behavior: 'drop_block' } } : {};
    const thinking = { type: 'enabled', budget_tokens: 2000, ...binding };
    const thread = previous === '' ? { type: 'create' } : { type: 'continue', previous_message_id: previous };
    return {
      model,
      max_tokens: 4000,
      stream: plan.stream,
      system: SYSTEM,
      tools,
      thinking,
      metadata: { user_id: name },
      messages: marked(entries),
      ...(plan.state === 'delta' && { thread }),
    };
  },
  words(text, picture) {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } };
    return { role: 'user', content: picture ? [image, { type: 'text', text }] : text };
  },
  results(results, { parts }, picture, reminder) {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } };
    const blocks: Json[] = results.map(({ call, text }) => ({
      type: 'tool_result',
      tool_use_id: call.id,
      content: parts ? [{ type: 'text', text }] : text,
    }));
    if (picture) blocks.push(image);
    if (reminder) blocks.push({ type: 'text', text: REMINDER });
    return [{ role: 'user', content: blocks }];
  },
  answered: (item) => item,
  calls: ({ content }) =>
    (content as Json[]).flatMap(({ type, id, name, input }) =>
      type === 'tool_use' ? { id: String(id), name: String(name), args: input as Json } : [],
    ),
  respelled: ({ role, content }) =>
    role === 'user' && typeof content === 'string'
      ? { content: [{ text: content, type: 'text' }], role }
      : { role, content: Array.isArray(content) ? content.map(turned) : content },
};

const responses: ClientWire = {
  path: () => '/v1/responses',
  body({ plan, model, name }, input, previous) {
    return {
      model,
      instructions: SYSTEM,
      tools: TOOLS.map((tool) => ({ type: 'function', ...tool })),
      ...(!plan.socket && { stream: plan.stream }),
      store: plan.state === 'delta' && !plan.socket,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'medium' },
      prompt_cache_key: name,
      input,
      ...(previous !== '' && { previous_response_id: previous }),
    };
  },
  words(text, picture) {
    const image = { type: 'input_image', image_url: `data:image/png;base64,${PICTURE}` };
    return { role: 'user', content: [...(picture ? [image] : []), { type: 'input_text', text }] };
  },
  results: (results, { parts }) =>
    results.map(({ call, text }) => ({
      type: 'function_call_output',
      call_id: call.id,
      output: parts ? [{ type: 'input_text', text }] : text,
    })),
  // Codex: other keys, no status, no id
  answered(item) {
    const { status: _status, ...rest } = item;
    if (item.type === 'reasoning') return { ...rest, content: null };
    const { id: _id, ...named } = rest;
    return named;
  },
  calls: ({ type, call_id, name, arguments: args }) =>
    type === 'function_call'
      ? [{ id: String(call_id), name: String(name), args: JSON.parse(String(args)) as Json }]
      : [],
  respelled: turned,
};

const chat: ClientWire = {
  path: () => '/v1/chat/completions',
  body: ({ plan, model, name }, entries) => ({
    model,
    stream: plan.stream,
    tools: TOOLS.map((tool) => ({ type: 'function', function: tool })),
    user: name,
    messages: [{ role: 'system', content: SYSTEM }, ...entries],
  }),
  words(text, picture) {
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PICTURE}` } };
    return { role: 'user', content: picture ? [image, { type: 'text', text }] : text };
  },
  results: (results, { parts }) =>
    results.map(({ call, text }) => ({
      role: 'tool',
      tool_call_id: call.id,
      content: parts ? [{ type: 'text', text }] : text,
    })),
  answered: (item) => item,
  calls: ({ tool_calls: calls = [] }) =>
    (calls as { id: string; function: { name: string; arguments: string } }[]).map(({ id, function: made }) => ({
      id,
      name: made.name,
      args: JSON.parse(made.arguments) as Json,
    })),
  respelled: ({ role, content, ...rest }) =>
    role === 'user' && typeof content === 'string'
      ? { role, content: [{ type: 'text', text: content }], ...rest }
      : turned({ role, content, ...rest }),
};

const gemini: ClientWire = {
  path: ({ plan, model }) =>
    `/v1beta/models/${model}:${plan.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body: ({ name }, contents) => ({
    systemInstruction: { parts: [{ text: SYSTEM }] },
    tools: [{ functionDeclarations: TOOLS }],
    labels: { agent: name },
    contents,
  }),
  words(text, picture) {
    const image = { inlineData: { mimeType: 'image/png', data: PICTURE } };
    return { role: 'user', parts: [...(picture ? [image] : []), { text }] };
  },
  results: (results) => [
    {
      role: 'user',
      parts: results.map(({ call: { id, name }, text }) => ({
        functionResponse: { id, name, response: { output: text } },
      })),
    },
  ],
  answered: (item) => item,
  calls: ({ parts }) => (parts as { functionCall?: Call }[]).flatMap(({ functionCall: call }) => call ?? []),
  respelled: turned,
};

const interactions: ClientWire = {
  path: () => '/v1beta/interactions',
  body: ({ plan, model, name }, input, previous) => ({
    model,
    system_instruction: SYSTEM,
    tools: TOOLS.map((tool) => ({ type: 'function', ...tool })),
    labels: { agent: name },
    stream: plan.stream,
    store: plan.state === 'delta',
    ...(previous !== '' && { previous_interaction_id: previous }),
    input,
  }),
  words(text, picture) {
    const image = { type: 'image', mime_type: 'image/png', data: PICTURE };
    return { type: 'user_input', content: [...(picture ? [image] : []), { type: 'text', text }] };
  },
  results: (results, { parts }) =>
    results.map(({ call: { id, name }, text }) => ({
      type: 'function_result',
      call_id: id,
      name,
      result: parts ? [{ type: 'text', text }] : text,
    })),
  answered: (item) => item,
  calls: ({ type, id, name, arguments: args }) =>
    type === 'function_call' ? [{ id: String(id), name: String(name), args: args as Json }] : [],
  respelled: turned,
};

export const clientWires: Readonly<Record<Wire, ClientWire>> = { messages, responses, chat, gemini, interactions };

/** The same object with its keys in another order. */
function turned(value: Json): Json {
  return Object.fromEntries(Object.entries(value).reverse());
}

/** Moves the cache mark to the newest message, as Claude Code does. */
function marked(entries: readonly Json[]): Json[] {
  return entries.map((message, i) => {
    if (i < entries.length - 1 || message.role !== 'user') return message;
    const blocks =
      typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : (message.content as Json[]);
    const last = blocks.length - 1;
    const content = blocks.map((block, j) => (j === last ? { ...block, cache_control: { type: 'ephemeral' } } : block));
    return { ...message, content };
  });
}
