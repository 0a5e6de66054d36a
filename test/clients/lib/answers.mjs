/** How many pieces a streamed text or argument string comes in. */
const PIECES = 3;

function pieces(text) {
  const size = Math.max(1, Math.ceil(text.length / PIECES));
  const out = [];
  for (let at = 0; at < text.length; at += size) out.push(text.slice(at, at + size));
  return out;
}

const usage = { prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1050 };

/**
 * What the model says next, in the shape of a chat completion.
 *
 * @param {{ id: string, model: string, text: string, calls: { id: string, name: string, args: object }[] }} turn
 */
export function plainAnswer({ id, model, text, calls }) {
  const toolCalls = calls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.args) },
  }));
  const message = {
    role: 'assistant',
    content: text,
    refusal: null,
    ...(calls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' };
  return { id, object: 'chat.completion', created: 1_700_000_000, model, choices: [choice], usage };
}

/**
 * The same as server-sent events.
 *
 * @param {{ id: string, model: string, text: string, calls: { id: string, name: string, args: object }[] }} turn
 * @param {boolean} withUsage
 * @returns {string[]} one event each
 */
export function streamedAnswer({ id, model, text, calls }, withUsage) {
  const head = { id, object: 'chat.completion.chunk', created: 1_700_000_000, model };
  const chunk = (delta, finish = null) => ({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] });
  const chunks = [chunk({ role: 'assistant', content: '' }), ...pieces(text).map((content) => chunk({ content }))];
  calls.forEach((call, index) => {
    const opening = { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } };
    chunks.push(chunk({ tool_calls: [opening] }));
    for (const piece of pieces(JSON.stringify(call.args))) {
      chunks.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
    }
  });
  chunks.push(chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'));
  if (withUsage) chunks.push({ ...head, choices: [], usage });
  return [...chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`), 'data: [DONE]\n\n'];
}
