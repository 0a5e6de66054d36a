import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { parsed } from '../../src/wires/json/value.ts';
import type { Message, Recording } from '../recordings/conversation.ts';
import { historyOf } from './agents.ts';
import { callsIn, contentOf, stringsIn, textOf } from './shown.ts';

/** The requests of a recording on the wire of its agent. */
export interface Bodies {
  readonly wire: 'chat' | 'messages';
  readonly dialect: Dialect;
  /** The request that is answered by the message at an index. */
  bodyAt(at: number, model: string): Buffer;
  /** The text of each message in a body that was made by `bodyAt`. */
  textsIn(body: Buffer): string[];
}

/**
 * Requests whose history is checked are written for Anthropic's wire, the others as chat completions: the recordings have
 * no reasoning, by which the product would know it on other wires.
 */
export function bodiesOf(recording: Recording): Bodies {
  return historyOf(recording) === 'free' ? chatBodies(recording) : messagesBodies(recording);
}

function chatBodies({ messages }: Recording): Bodies {
  const written = messages.map((message) => JSON.stringify(message));
  return {
    wire: 'chat',
    dialect: openaiChat,
    bodyAt: (at, model) =>
      Buffer.from(`{"model":${JSON.stringify(model)},"messages":[${written.slice(0, at).join(',')}]}`),
    textsIn: (body) => (JSON.parse(body.toString('utf8')) as { readonly messages: Message[] }).messages.map(textOf),
  };
}

interface Entry {
  readonly role: 'assistant' | 'user';
  readonly first: number;
  readonly blocks: object[];
}

/** Results and words between two answers are blocks of one message of the user's, as Claude Code sends them. */
function messagesBodies({ messages, usage = [] }: Recording): Bodies {
  const entries: Entry[] = [];
  for (const [i, message] of messages.entries()) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const last = entries.at(-1);
    if (role === 'user' && last?.role === 'user') last.blocks.push(...blocksOf(message));
    else entries.push({ role, first: i, blocks: blocksOf(message) });
  }
  const written = entries.map(({ role, blocks }) => JSON.stringify({ role, content: blocks }));
  const hours = usage.reduce((sum, one) => sum + one.written1h - one.written / 2, 0);
  const breakpoint = JSON.stringify({ type: 'ephemeral', ...(hours > 0 && { ttl: '1h' }) });
  return {
    wire: 'messages',
    dialect: anthropicMessages,
    bodyAt: (at, model) => {
      const sent = written.filter((_, k) => (entries[k]?.first ?? at) < at).join(',');
      return Buffer.from(`{"model":${JSON.stringify(model)},"messages":[${sent}],"cache_control":${breakpoint}}`);
    },
    textsIn: (body) => {
      const sent = JSON.parse(body.toString('utf8')) as {
        readonly messages: readonly { content: readonly Message[] }[];
      };
      const texts: string[] = [];
      for (const { type, text, input, content } of sent.messages.flatMap((message) => message.content)) {
        if (type !== 'tool_use') texts.push(String(type === 'tool_result' ? content : text));
        else texts.push([texts.pop() ?? '', ...stringsIn(JSON.stringify(input))].join('\n'));
      }
      return texts;
    },
  };
}

/** One block of text or result, which `textsIn` reads again, and those of the calls. */
function blocksOf(message: Message): object[] {
  const content = contentOf(message);
  if (message.role === 'tool') return [{ type: 'tool_result', tool_use_id: String(message.tool_call_id), content }];
  const calls = message.role === 'assistant' ? callsIn(message) : [];
  const uses = calls.map(({ id, name, args }) => ({
    type: 'tool_use',
    id,
    name,
    input: parsed(args) ?? { input: args },
  }));
  return [{ type: 'text', text: content }, ...uses];
}
