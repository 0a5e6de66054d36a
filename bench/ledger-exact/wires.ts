import type { AgentTurn } from './conversation.ts';

/** How a wire writes a conversation. */
interface WireForm {
  /** @param carries - hidden reasoning is sent back, four characters a token, where the wire has a place for it */
  readonly bodyOf: (turns: readonly AgentTurn[], carries?: boolean) => object;
  /** What asks for the cache, where the provider does not cache by itself. */
  readonly cacheControl?: object;
}

const SYSTEM = `You are a coding agent. ${'Read before you write, and run the tests. '.repeat(30)}`;

/** The wires, each with the same conversation: instructions, a question, and in each turn words, a call and its result. */
export const WIRES: Readonly<Record<'chat' | 'messages' | 'responses' | 'gemini', WireForm>> = {
  chat: {
    bodyOf: (turns) => ({
      messages: [
        { role: 'system', content: SYSTEM },
        ...turns.flatMap(({ said, heard }, i) => [
          ...(said
            ? [
                {
                  role: 'assistant',
                  content: said.words,
                  tool_calls: [
                    {
                      id: `call_${i}`,
                      type: 'function',
                      function: { name: said.tool, arguments: JSON.stringify(said.args) },
                    },
                  ],
                },
              ]
            : []),
          said ? { role: 'tool', tool_call_id: `call_${i}`, content: heard } : { role: 'user', content: heard },
        ]),
      ],
    }),
  },
  messages: {
    cacheControl: { cache_control: { type: 'ephemeral' } },
    bodyOf: (turns) => ({
      system: SYSTEM,
      messages: turns.flatMap(({ said, heard }, i) => [
        ...(said
          ? [
              {
                role: 'assistant',
                content: [
                  { type: 'text', text: said.words },
                  { type: 'tool_use', id: `toolu_${i}`, name: said.tool, input: said.args },
                ],
              },
            ]
          : []),
        {
          role: 'user',
          content: said ? [{ type: 'tool_result', tool_use_id: `toolu_${i}`, content: heard }] : heard,
        },
      ]),
    }),
  },
  responses: {
    bodyOf: (turns, carries = false) => ({
      store: false,
      instructions: SYSTEM,
      input: turns.flatMap(({ said, heard, thinks }, i): object[] =>
        said
          ? [
              ...(carries ? [{ type: 'reasoning', summary: [], encrypted_content: 'xY9z'.repeat(thinks) }] : []),
              { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: said.words }] },
              { type: 'function_call', call_id: `call_${i}`, name: said.tool, arguments: JSON.stringify(said.args) },
              { type: 'function_call_output', call_id: `call_${i}`, output: heard },
            ]
          : [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: heard }] }],
      ),
    }),
  },
  gemini: {
    bodyOf: (turns, carries = false) => ({
      systemInstruction: { parts: [{ text: SYSTEM }] },
      contents: turns.flatMap(({ said, heard, thinks }, i) =>
        said
          ? [
              {
                role: 'model',
                parts: [
                  ...(carries && thinks > 0 ? [{ text: 'why '.repeat(thinks), thought: true }] : []),
                  { text: said.words },
                  { functionCall: { id: `call_${i}`, name: said.tool, args: said.args } },
                ],
              },
              {
                role: 'user',
                parts: [{ functionResponse: { id: `call_${i}`, name: said.tool, response: { output: heard } } }],
              },
            ]
          : [{ role: 'user', parts: [{ text: heard }] }],
      ),
    }),
  },
};
