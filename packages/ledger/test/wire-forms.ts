export const MODEL = 'acme-code-1';

/** Tokens that a provider reports for an answer. */
export interface Counts {
  readonly fresh: number;
  readonly written: number;
  readonly read: number;
  readonly said: number;
  readonly thought: number;
  /** Number of the request, from 0. */
  readonly index: number;
}

/** A turn of an agent: what it called, and what came of that. */
export type Turn = readonly [command: string, result: string];

/** The bodies, answers and streams of a wire. */
export interface WireForm {
  readonly path: (stream: boolean) => string;
  readonly body: (turns: readonly Turn[], stream: boolean) => object;
  readonly answer: (counts: Counts) => object;
  /** The events of a streamed answer. */
  readonly events: (counts: Counts) => readonly object[];
  readonly writes?: true;
}

const QUESTION = 'Why does the checkout fail for some customers? Find the failing payment.';
export const all = ({ fresh, written, read }: Counts): number => fresh + written + read;

const chatUsage = (counts: Counts) => ({
  prompt_tokens: all(counts),
  completion_tokens: counts.said + counts.thought,
  prompt_tokens_details: { cached_tokens: counts.read },
  completion_tokens_details: { reasoning_tokens: counts.thought },
});
export const messagesUsage = ({ fresh, written, read, said, thought }: Counts) => ({
  input_tokens: fresh,
  cache_creation_input_tokens: written,
  cache_read_input_tokens: read,
  output_tokens: said + thought,
});
const responsesUsage = (counts: Counts) => ({
  input_tokens: all(counts),
  input_tokens_details: { cached_tokens: counts.read },
  output_tokens: counts.said + counts.thought,
  output_tokens_details: { reasoning_tokens: counts.thought },
});
/** Gemini leaves out counts that are 0. */
const geminiUsage = (counts: Counts) => ({
  promptTokenCount: all(counts),
  candidatesTokenCount: counts.said,
  thoughtsTokenCount: counts.thought,
  ...(counts.read > 0 && { cachedContentTokenCount: counts.read }),
});

export const WIRES: Readonly<Record<string, WireForm>> = {
  chat: {
    path: () => '/v1/chat/completions',
    body: (turns, stream) => ({
      model: MODEL,
      stream,
      messages: [
        { role: 'user', content: QUESTION },
        ...turns.flatMap(([command, content], i) => [
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: `c${i}`, type: 'function', function: { name: 'bash', arguments: JSON.stringify({ command }) } },
            ],
          },
          { role: 'tool', tool_call_id: `c${i}`, content },
        ]),
      ],
    }),
    answer: (counts) => ({ choices: [{ message: { role: 'assistant', content: 'ok' } }], usage: chatUsage(counts) }),
    events: (counts) => [
      { choices: [{ delta: { content: 'ok' } }], usage: null },
      { choices: [], usage: chatUsage(counts) },
    ],
  },
  messages: {
    path: () => '/v1/messages',
    writes: true,
    body: (turns, stream) => ({
      model: MODEL,
      stream,
      max_tokens: 1_000,
      cache_control: { type: 'ephemeral' },
      messages: [
        { role: 'user', content: QUESTION },
        ...turns.flatMap(([command, content], i) => [
          { role: 'assistant', content: [{ type: 'tool_use', id: `t${i}`, name: 'Bash', input: { command } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${i}`, content }] },
        ]),
      ],
    }),
    answer: (counts) => ({ type: 'message', role: 'assistant', content: [], usage: messagesUsage(counts) }),
    events: (counts) => [
      { type: 'message_start', message: { usage: { ...messagesUsage(counts), output_tokens: 1 } } },
      { type: 'message_delta', usage: { output_tokens: counts.said + counts.thought } },
    ],
  },
  responses: {
    path: () => '/v1/responses',
    body: (turns, stream) => ({
      model: MODEL,
      stream,
      store: false,
      input: [
        { type: 'message', role: 'user', content: QUESTION },
        ...turns.flatMap(([command, output], i) => [
          { type: 'function_call', call_id: `f${i}`, name: 'shell', arguments: JSON.stringify({ command }) },
          { type: 'function_call_output', call_id: `f${i}`, output },
        ]),
      ],
    }),
    answer: (counts) => ({ id: 'resp_1', object: 'response', output: [], usage: responsesUsage(counts) }),
    events: (counts) => [
      { type: 'response.created', response: { id: 'resp_1' } },
      { type: 'response.completed', response: { id: 'resp_1', usage: responsesUsage(counts) } },
    ],
  },
  generateContent: {
    path: (stream) => `/v1beta/models/${MODEL}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (turns) => ({
      contents: [
        { role: 'user', parts: [{ text: QUESTION }] },
        ...turns.flatMap(([command, output], i) => [
          { role: 'model', parts: [{ functionCall: { id: `g${i}`, name: 'bash', args: { command } } }] },
          { role: 'user', parts: [{ functionResponse: { id: `g${i}`, name: 'bash', response: { output } } }] },
        ]),
      ],
    }),
    answer: (counts) => ({
      candidates: [{ content: { parts: [{ text: 'ok' }] } }],
      usageMetadata: geminiUsage(counts),
    }),
    events: (counts) => [
      { candidates: [{ content: { parts: [{ text: 'o' }] } }], usageMetadata: { promptTokenCount: all(counts) } },
      { candidates: [{ content: { parts: [{ text: 'k' }] } }], usageMetadata: geminiUsage(counts) },
    ],
  },
};
