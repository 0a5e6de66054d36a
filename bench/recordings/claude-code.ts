import { type Form, type Message, type Recording, toolCall } from './conversation.ts';

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly content?: string | readonly Block[];
}

interface Entry {
  readonly type: string;
  readonly subtype?: string;
  readonly isSidechain?: boolean;
  readonly sessionId?: string;
  readonly message?: { readonly id?: string; readonly content?: string | readonly Block[] };
}

/**
 * Sessions of Claude Code: one entry a line, a model's message in a line for each of its blocks. What comes after a
 * compaction is a conversation of its own; what sub-agents say inside of a session is left out.
 */
export const claudeCode: Form = {
  about: 'sessions of Claude Code (*.jsonl with entries of user and assistant)',
  matches: (path) => path.endsWith('.jsonl'),
  read: (text) => {
    const entries = text.split('\n').flatMap(entryIn);
    const session = entries.find(({ sessionId }) => sessionId !== undefined)?.sessionId;
    if (session === undefined) return [];
    const parts: Message[][] = [[]];
    let answer = '';
    for (const { type, subtype, isSidechain, message } of entries) {
      if (subtype === 'compact_boundary') parts.push([]);
      if (isSidechain === true || message?.content === undefined) continue;
      const { id = '', content } = message;
      const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
      const messages = parts.at(-1) ?? [];
      if (type === 'assistant') {
        const said = saidIn(blocks);
        const goesOn = id !== '' && id === answer && messages.at(-1)?.role === 'assistant';
        const whole = goesOn ? joined(messages.at(-1) ?? {}, said) : said;
        if (goesOn) messages[messages.length - 1] = whole;
        else if (whole.content !== '' || whole.tool_calls !== undefined) messages.push(whole);
        answer = id;
      } else if (type === 'user') messages.push(...heardIn(blocks));
    }
    return parts
      .map(paired)
      .map((messages, i): Recording => ({ agent: 'Claude Code', name: `${session}#${i}`, group: session, messages }))
      .filter(({ messages }) => messages.filter(({ role }) => role === 'assistant').length >= 3);
  },
};

function entryIn(line: string): Entry[] {
  try {
    return line === '' ? [] : [JSON.parse(line) as Entry];
  } catch {
    return []; // a line that was cut off
  }
}

function saidIn(blocks: readonly Block[]): Message {
  const calls = blocks.flatMap((block) =>
    block.type === 'tool_use' ? [toolCall(block.id ?? '', block.name ?? '', block.input)] : [],
  );
  return { role: 'assistant', content: textIn(blocks), ...(calls.length > 0 && { tool_calls: calls }) };
}

function joined(before: Message, after: Message): Message {
  const content = [before.content, after.content].filter((text) => text !== '').join('\n');
  const calls = [before, after].flatMap(({ tool_calls: own }) => (own as readonly Message[] | undefined) ?? []);
  return { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) };
}

/** The results in a user's message, each a message of its own, and then the words. */
function heardIn(blocks: readonly Block[]): Message[] {
  const results = blocks.flatMap((block): Message[] => {
    if (block.type !== 'tool_result') return [];
    const content = typeof block.content === 'string' ? block.content : textIn(block.content ?? []);
    return [{ role: 'tool', tool_call_id: block.tool_use_id ?? '', content }];
  });
  const words = textIn(blocks);
  return words === '' ? results : [...results, { role: 'user', content: words }];
}

function textIn(blocks: readonly Block[]): string {
  return blocks.flatMap((block) => (block.type === 'text' ? (block.text ?? '') : [])).join('\n');
}

/** Without results whose call stands before the compaction or was left out. */
function paired(messages: readonly Message[]): Message[] {
  const called = new Set<unknown>();
  return messages.filter((message) => {
    for (const { id } of (message.tool_calls as readonly Message[] | undefined) ?? []) called.add(id);
    return message.role !== 'tool' || called.has(message.tool_call_id);
  });
}
