import { type Form, type Message, type Recording, toolCall } from './conversation.ts';

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly arguments?: unknown;
}

interface Entry {
  readonly type: string;
  readonly summary?: string;
  readonly message?: {
    readonly role: string;
    readonly content?: string | readonly Part[];
    readonly toolCallId?: string;
    readonly stopReason?: string;
  };
}

/** Sessions of pi: native calls, one entry a line. What comes after a compaction is a conversation of its own. */
export const pi: Form = {
  about: 'sessions of pi (*.jsonl that begin with a session entry)',
  matches: (path) => path.endsWith('.jsonl'),
  read: (text, path) => {
    if (!text.startsWith('{"type":"session"')) return [];
    const parts: Message[][] = [[]];
    for (const entry of text.split('\n').flatMap(entriesIn)) {
      if (entry.type === 'compaction') {
        parts.push([{ role: 'user', content: entry.summary ?? '' }]);
        continue;
      }
      const message = entry.message && messageOf(entry.message);
      if (message) parts.at(-1)?.push(message);
    }
    return parts
      .filter((messages) => messages.some(({ role }) => role === 'tool'))
      .map((messages, i): Recording => ({ agent: 'pi', name: `${path}#${i}`, messages: paired(messages) }));
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

function messageOf({ role, content, toolCallId, stopReason }: NonNullable<Entry['message']>): Message | null {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const text = parts.flatMap((part) => (part.type === 'text' ? (part.text ?? '') : [])).join('\n');
  if (role === 'toolResult') return { role: 'tool', tool_call_id: toolCallId ?? '', content: text };
  if (role === 'user') return text === '' ? null : { role, content: text };
  if (role !== 'assistant' || stopReason === 'error' || stopReason === 'aborted') return null;
  const calls = parts.flatMap((part) =>
    part.type === 'toolCall' ? toolCall(part.id ?? '', part.name ?? '', part.arguments) : [],
  );
  if (text === '' && calls.length === 0) return null;
  return { role, content: text, ...(calls.length > 0 && { tool_calls: calls }) };
}

/** Without results whose call was left out. */
function paired(messages: readonly Message[]): Message[] {
  const called = new Set<unknown>();
  return messages.filter((message) => {
    for (const { id } of (message.tool_calls as readonly Message[] | undefined) ?? []) called.add(id);
    return message.role !== 'tool' || called.has(message.tool_call_id);
  });
}
