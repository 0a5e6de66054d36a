import { type Form, outputPriceOf, type Recording, timeOf, toolCall } from './conversation.ts';
import { Thread, timesOf } from './entries.ts';

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: unknown;
}

interface Entry {
  readonly type: string;
  readonly timestamp?: string;
  readonly summary?: string;
  readonly message?: {
    readonly role: string;
    readonly content?: string | readonly Part[];
    readonly toolCallId?: string;
    readonly stopReason?: string;
    readonly model?: string;
    readonly usage?: {
      readonly input: number;
      readonly output: number;
      readonly cacheRead: number;
      readonly cacheWrite: number;
    };
  };
}

/** Sessions of pi: native calls, one entry a line. What comes after a compaction is a conversation of its own. */
export const pi: Form = {
  about: 'sessions of pi (*.jsonl that begin with a session entry)',
  matches: (path) => path.endsWith('.jsonl'),
  read: (text, path) => {
    if (!text.startsWith('{"type":"session"')) return [];
    const threads = [new Thread()];
    let model = '';
    for (const { type, timestamp, summary = '', message } of text.split('\n').flatMap(entriesIn)) {
      if (type === 'compaction') threads.push(new Thread());
      const thread = threads.at(-1);
      if (type === 'compaction') thread?.words('user', summary, timeOf(timestamp));
      else if (message) add(thread, message, timeOf(timestamp));
      model = message?.model ?? model;
    }
    return threads
      .filter(({ messages }) => messages.some(({ role }) => role === 'tool'))
      .map(({ messages, usage, times }, i): Recording => {
        const billed = usage.length > 0 && { usage, outputPrice: outputPriceOf(model) };
        return { agent: 'pi', name: `${path}#${i}`, messages, ...timesOf(times), ...billed };
      });
  },
};

/** The entries of a line; where two stand on one line, both. */
function entriesIn(line: string): Entry[] {
  const entries: Entry[] = [];
  for (const part of line.replaceAll('}{"type":"', '}\n{"type":"').split('\n')) {
    try {
      entries.push(JSON.parse(part) as Entry);
    } catch {
      // an empty line, or one that was cut off
    }
  }
  return entries;
}

function add(thread: Thread | undefined, message: NonNullable<Entry['message']>, timeMs: number): void {
  const { role, content, toolCallId = '', stopReason, usage } = message;
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const text = parts.flatMap((part) => (part.type === 'text' ? (part.text ?? '') : [])).join('\n');
  if (role === 'toolResult') thread?.result(toolCallId, text, timeMs);
  if (role === 'user') thread?.words('user', text, timeMs);
  if (thread === undefined || role !== 'assistant' || stopReason === 'error' || stopReason === 'aborted') return;
  const calls = parts.flatMap((part) =>
    part.type === 'toolCall' ? toolCall(part.id ?? '', part.name ?? '', part.arguments) : [],
  );
  if (text === '' && calls.length === 0) return;
  const at = thread.answer({ role, content: text, ...(calls.length > 0 && { tool_calls: calls }) }, timeMs);
  if (!usage) return;
  const { input: fresh, output, cacheRead: read, cacheWrite: written } = usage;
  thread.bill({ at, fresh, read, written, written1h: 0, output, ...(message.model && { model: message.model }) });
}
