/** What a prompt cache would have made of it is not played. */
const usageMetadata = { promptTokenCount: 1000, candidatesTokenCount: 50, totalTokenCount: 1050 };

/** A result as the client wraps it: its only text, or all of it as JSON. */
function resultText({ response = {} }) {
  const values = Object.values(response);
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : JSON.stringify(response);
}

/** A turn as messages of a chat: each result by itself, its texts, its calls. */
function asChat({ role, parts = [] }) {
  const text = parts.flatMap((part) => (typeof part.text === 'string' && !part.thought ? [part.text] : [])).join('\n');
  const calls = parts.flatMap(({ functionCall: call }) =>
    call
      ? [{ id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args) } }]
      : [],
  );
  const results = parts.flatMap(({ functionResponse: result }) =>
    result ? [{ role: 'tool', tool_call_id: result.id, content: resultText(result) }] : [],
  );
  const speaker = role === 'model' ? 'assistant' : 'user';
  const rest = text === '' && calls.length === 0 ? [] : [{ role: speaker, content: text, tool_calls: calls }];
  return [...results, ...rest];
}

function answer({ model, text, calls }) {
  const parts = [{ text }, ...calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } }))];
  return {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    usageMetadata,
    modelVersion: model,
  };
}

/** `/v1beta/models/…:generateContent`, streamed by another name. */
export const gemini = {
  name: 'gemini',
  path: /:(?:generateContent|streamGenerateContent)$/,
  list: 'contents',
  streams: (path) => path.includes(':streamGenerateContent'),
  read: ({ tools = [], contents = [] }) => ({
    tools: tools.flatMap(({ functionDeclarations = [] }) =>
      functionDeclarations.map(({ name, parameters, parametersJsonSchema }) => ({
        function: { name, parameters: parametersJsonSchema ?? parameters },
      })),
    ),
    messages: contents.flatMap(asChat),
  }),
  plain: answer,
  events(turn) {
    const { candidates, ...rest } = answer(turn);
    const [{ content, ...candidate }] = candidates;
    // a part for each event; what it cost stands in the last one
    return content.parts.map((part, i, parts) => {
      const isLast = i === parts.length - 1;
      const piece = { role: 'model', parts: [part] };
      const event = isLast
        ? { candidates: [{ ...candidate, content: piece }], ...rest }
        : { candidates: [{ content: piece, index: 0 }] };
      return `data: ${JSON.stringify(event)}\r\n\r\n`;
    });
  },
};
