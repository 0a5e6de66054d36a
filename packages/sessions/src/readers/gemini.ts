import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import { ChatThread } from './chat-thread.ts';
import { listOf, numberOf, type Session, type SessionRequest, textOf } from './recorded.ts';

/**
 * Reads a session of Gemini CLI (`~/.gemini/tmp/<project>/chats/session-….json` or `.jsonl`): one object with
 * `messages`, or one line per message. In lines, a message is repeated whenever it changes, and `$set` replaces fields
 * of the session. A message of type `gemini` is a request with its `tokens`.
 *
 * @param project - name of the project folder to which the session belongs
 */
export function geminiSession(text: string, project: string): Session {
  const { id, messages } = messagesOf(text);
  const thread = new ChatThread();
  const requests: SessionRequest[] = [];
  for (const message of messages) {
    const type = field(message, 'type');
    if (type === 'user') thread.user(wordsOf(field(message, 'content')));
    if (type !== 'gemini') continue;
    const tokens = field(message, 'tokens');
    const input = numberOf(field(tokens, 'input'));
    if (input > 0) {
      const length = thread.fit(input);
      const thoughts = numberOf(field(tokens, 'thoughts'));
      requests.push({
        key: `${id}\n${textOf(field(message, 'id'))}`,
        ...{ thread: 'main', wire: 'chat', project, history: thread.messages, length, reasoning: thoughts },
        atMs: Date.parse(textOf(field(message, 'timestamp'))) || 0,
        model: textOf(field(message, 'model')),
        usage: {
          input,
          output: numberOf(field(tokens, 'output')) + thoughts,
          read: numberOf(field(tokens, 'cached')),
          ...{ written: null, written1h: null },
        },
      });
    }
    const calls = listOf(field(message, 'toolCalls'));
    thread.assistant(
      wordsOf(field(message, 'content')),
      calls.map((call) => ({
        id: textOf(field(call, 'id')),
        name: textOf(field(call, 'name')),
        args: field(call, 'args'),
      })),
    );
    for (const call of calls) thread.result(textOf(field(call, 'id')), wordsOf(field(call, 'result')));
  }
  return { requests, offered: new Set() };
}

/** Messages in order, each in its latest version. */
function messagesOf(text: string): { readonly id: string; readonly messages: readonly unknown[] } {
  const whole = parsed(text);
  if (Array.isArray(field(whole, 'messages'))) {
    return { id: textOf(field(whole, 'sessionId')), messages: listOf(field(whole, 'messages')) };
  }
  let id = '';
  let messages = new Map<string, unknown>();
  for (const line of text.split('\n').map(parsed)) {
    id ||= textOf(field(line, 'sessionId'));
    const set = field(field(line, '$set'), 'messages');
    if (Array.isArray(set)) messages = new Map(set.map((one, i) => [textOf(field(one, 'id')) || String(i), one]));
    else if (field(line, 'type') !== undefined) messages.set(textOf(field(line, 'id')) || String(messages.size), line);
  }
  return { id, messages: [...messages.values()] };
}

/** The text of a content: a string, parts with `text`, or tool answers. */
export function wordsOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => {
      const response = field(field(part, 'functionResponse'), 'response');
      return textOf(field(part, 'text')) || textOf(field(response, 'output')) || textOf(field(response, 'error'));
    })
    .filter((words) => words !== '')
    .join('\n');
}
