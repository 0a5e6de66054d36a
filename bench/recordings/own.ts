import type { Session, SessionMessage, SessionRequest, SessionWire } from '@mcp-pruner/sessions/readers/recorded.ts';
import { sessionFiles } from '@mcp-pruner/sessions/report/places.ts';
import { type Message, outputPriceOf, type Recording, toolCall } from './conversation.ts';
import { recordingsOf, Thread } from './entries.ts';

/** The sessions that the agents of a machine keep below a home folder, as recordings. A file that cannot be read is left out. */
export async function* ownRecordings(homeDir: string): AsyncGenerator<Recording> {
  for (const file of sessionFiles(homeDir, 0)) {
    const session = await file.read(() => undefined).catch(() => null);
    if (session !== null) yield* sessionRecordings(session, file.agent, file.path);
  }
}

/** The conversations of a session, each history one. */
export function sessionRecordings({ requests }: Session, agent: string, session: string): Recording[] {
  const histories = new Map<readonly SessionMessage[], SessionRequest[]>();
  for (const request of requests) histories.set(request.history, [...(histories.get(request.history) ?? []), request]);
  const threads = [...histories].map(([history, own]) => threadOf(history, own));
  return recordingsOf(threads, { agent, session, outputPrice: outputPriceOf(requests[0]?.model ?? '') });
}

function threadOf(history: readonly SessionMessage[], requests: readonly SessionRequest[]): Thread {
  const thread = new Thread();
  const byLength = new Map(requests.map((request) => [request.length, request]));
  const wire = requests[0]?.wire ?? 'chat';
  let answer = -1;
  for (const [i, { json, made }] of history.entries()) {
    const message = JSON.parse(json) as Message;
    const request = byLength.get(i);
    if (!made) {
      answer = -1;
      addOther(thread, message, wire);
      continue;
    }
    const said = answerOf(message, wire);
    if (answer >= 0 && request === undefined) thread.extend(answer, said);
    else answer = thread.answer(said, request?.atMs);
    if (request) thread.bill(usageAt(answer, request));
  }
  return thread;
}

function usageAt(at: number, { usage, model }: SessionRequest) {
  const [read, written] = [usage.read ?? 0, usage.written ?? 0];
  const fresh = Math.max(0, (usage.input ?? 0) - read - written);
  return { at, fresh, read, written, written1h: usage.written1h ?? 0, output: usage.output ?? 0, model };
}

/** An answer of the model in the shape of chat/completions. */
function answerOf(message: Message, wire: SessionWire): Message {
  const { role, content, type } = message;
  if (wire === 'chat') return { ...message, content: textIn(content) };
  const blocks = type === undefined && Array.isArray(content) ? (content as readonly Message[]) : [message];
  const calls = blocks.flatMap(({ type: is, id, call_id, name, input, arguments: args }) => {
    if (is === 'tool_use') return [toolCall(String(id), String(name), input)];
    if (is !== 'function_call' && is !== 'custom_tool_call') return [];
    const written = typeof args === 'string' ? args : JSON.stringify(input ?? {});
    return [{ id: String(call_id), type: 'function', function: { name: String(name), arguments: written } }];
  });
  const words = role === undefined ? '' : textIn(content);
  return { role: 'assistant', content: words, ...(calls.length > 0 && { tool_calls: calls }) };
}

/** Results, and words of the user or the client. */
function addOther(thread: Thread, message: Message, wire: SessionWire): void {
  const { role, content, type, call_id, tool_call_id, output } = message;
  if (wire === 'chat' && role === 'tool') {
    thread.result(String(tool_call_id), textIn(content));
    return;
  }
  if (typeof type === 'string' && type.endsWith('_output')) {
    thread.result(String(call_id), textIn(output));
    return;
  }
  const blocks = Array.isArray(content) ? (content as readonly Message[]) : [];
  for (const block of blocks)
    if (block.type === 'tool_result') thread.result(String(block.tool_use_id), textIn(block.content));
  thread.words(role === 'system' || role === 'developer' ? 'system' : 'user', textIn(content));
}

function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as readonly Message[]).flatMap(({ text }) => (typeof text === 'string' ? text : [])).join('\n');
}
