import { chat } from './wires/chat.mjs';
import { gemini } from './wires/gemini.mjs';
import { messages } from './wires/messages.mjs';
import { responses } from './wires/responses.mjs';

const byName = { chat, messages, responses, gemini };
const wires = Object.values(byName);

/**
 * The wire that a request is on, or `undefined` for one that no model answers.
 *
 * @param {string} path - with or without a query
 */
export function wireOf(path) {
  const [plain = ''] = path.split('?');
  return wires.find((wire) => wire.path.test(plain));
}

/** The wire of a name. */
export const wireNamed = (name) => byName[name];

/**
 * The conversation in a body, whatever its wire, in the shape of a chat.
 *
 * @param {string} path
 * @param {string} body
 * @returns {{ tools: object[], messages: { role: string, content: string, tool_call_id?: string,
 *   tool_calls?: object[] }[] }}
 */
export function conversationOf(path, body) {
  return wireOf(path)?.read(JSON.parse(body)) ?? { tools: [], messages: [] };
}
