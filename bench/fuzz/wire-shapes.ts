import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import { bedrockConverse } from '../../src/wires/dialects/bedrock-converse/dialect.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { googleGemini } from '../../src/wires/dialects/google-gemini/dialect.ts';
import { googleInteractions } from '../../src/wires/dialects/google-interactions/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import type { Turn } from './cases.ts';
import type { Leaf } from './json-reader.ts';
import { RawJson } from './spelling.ts';
import { callMessages } from './wire.ts';

export type WireName = Dialect['name'];
type Call = Pick<Extract<Turn, { kind: 'call' }>, 'tool' | 'args' | 'said' | 'legacy' | 'argsAsObject'>;

/** How a wire writes what the others write in another way. */
export interface WireShape {
  readonly dialect: Dialect;
  /** The key of the list of messages. */
  readonly list: string;
  /** A call and its result, as two messages. */
  readonly call: (id: string, call: Call, content: unknown) => object[];
  /** What a user's content is written as. */
  readonly user: (content: unknown) => object;
  /** Whether a string at a path may be cut; `kind` is what its message calls itself. */
  readonly mayCut: (path: Leaf['path'], kind: unknown) => boolean;
  /** The key under which a message says of which kind it is. */
  readonly kindKey: string;
}

const chat: WireShape = {
  dialect: openaiChat,
  list: 'messages',
  call: callMessages,
  user: (content) => ({ role: 'user', content }),
  mayCut: (path, kind) => path[2] === 'content' && /^(?:tool|function|user)$/.test(String(kind)) && isTextPath(path, 3),
  kindKey: 'role',
};

const messages: WireShape = {
  dialect: anthropicMessages,
  list: 'messages',
  call: (id, { tool, args, said }, content) => [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'retry payment queue', signature: 'c2ln' },
        ...(said ? [{ type: 'text', text: said }] : []),
        { type: 'tool_use', id, name: tool, input: inputOf(args) },
      ],
    },
    { role: 'user', content: [{ tool_use_id: id, type: 'tool_result', content, is_error: false }] },
  ],
  user: (content) => ({ role: 'user', content }),
  mayCut: (path, kind) => {
    if (path[2] !== 'content' || kind !== 'user') return false;
    return (
      isTextPath(path, 3) ||
      (path.length === 5 && path[4] === 'content') ||
      (path[4] === 'content' && isTextPath(path, 5))
    );
  },
  kindKey: 'role',
};

const responses: WireShape = {
  dialect: openaiResponses,
  list: 'input',
  call: (id, { tool, args }, content) => [
    { type: 'function_call', id: `fc_${id}`, call_id: id, name: tool, arguments: args, status: 'completed' },
    { type: 'function_call_output', call_id: id, output: asInput(content) },
  ],
  user: (content) => ({ type: 'message', role: 'user', content: asInput(content) }),
  mayCut: (path, kind) =>
    kind === 'message'
      ? path[2] === 'content' && isTextPath(path, 3)
      : kind === 'function_call_output' && path[2] === 'output' && isTextPath(path, 3),
  kindKey: 'type',
};

const gemini: WireShape = {
  dialect: googleGemini,
  list: 'contents',
  call: (id, { tool, args, said }, content) => [
    {
      role: 'model',
      parts: [
        ...(said ? [{ text: said }] : []),
        { functionCall: { id, name: tool, args: inputOf(args) }, thoughtSignature: 'c2ln' },
      ],
    },
    { role: 'user', parts: [{ functionResponse: { name: tool, response: { output: content }, id } }] },
  ],
  user: (content) => ({ role: 'user', parts: Array.isArray(content) ? content : [{ text: content }] }),
  mayCut: (path, kind) => {
    if (path[2] !== 'parts' || (kind !== 'user' && kind !== undefined)) return false; // who names no role is the user
    return (path.length === 5 && path[4] === 'text') || (path.length === 7 && path[4] === 'functionResponse');
  },
  kindKey: 'role',
};

const converse: WireShape = {
  dialect: bedrockConverse,
  list: 'messages',
  call: (id, { tool, args, said }, content) => [
    {
      role: 'assistant',
      content: [...(said ? [{ text: said }] : []), { toolUse: { toolUseId: id, name: tool, input: inputOf(args) } }],
    },
    { role: 'user', content: [{ toolResult: { toolUseId: id, content: asBlocks(content), status: 'success' } }] },
  ],
  user: (content) => ({ role: 'user', content: asBlocks(content) }),
  mayCut: (path, kind) => {
    if (path[2] !== 'content' || kind !== 'user') return false;
    return (path.length === 5 && path[4] === 'text') || (path.length === 8 && path[4] === 'toolResult');
  },
  kindKey: 'role',
};

const interactions: WireShape = {
  dialect: googleInteractions,
  list: 'input',
  call: (id, { tool, args }, content) => [
    { type: 'function_call', id, name: tool, arguments: inputOf(args) },
    { type: 'function_result', call_id: id, name: tool, result: content },
  ],
  user: (content) => ({
    type: 'user_input',
    content: Array.isArray(content) ? content : [{ type: 'text', text: content }],
  }),
  mayCut: (path, kind) =>
    kind === 'user_input'
      ? path[2] === 'content' && isTextPath(path, 3)
      : kind === 'function_result' && path[2] === 'result' && isTextPath(path, 3),
  kindKey: 'type',
};

export const shapes: Readonly<Record<WireName, WireShape>> = {
  ...{ chat, messages, responses },
  ...{ gemini, interactions, converse },
};

/** A content as blocks of Converse, which say what they are by their key. */
function asBlocks(content: unknown): unknown {
  if (!Array.isArray(content)) return [{ text: content }];
  return content.map((part: unknown) => {
    const { type, text } = part as { readonly type?: unknown; readonly text?: unknown };
    return type === 'text' ? { text } : { image: { format: 'png', source: { bytes: 'aGk=' } } };
  });
}

/** A content's own string, or the text of one of its parts; the content stands at this depth. */
function isTextPath(path: Leaf['path'], depth: number): boolean {
  return path.length === depth || (path.length === depth + 2 && path[depth + 1] === 'text');
}

function inputOf(args: string): unknown {
  try {
    const value: unknown = JSON.parse(args);
    return value !== null && typeof value === 'object' ? new RawJson(args) : { command: args };
  } catch {
    return { command: args };
  }
}

function asInput(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: unknown) => {
    const { type, ...rest } = part as Readonly<Record<string, unknown>>;
    return { type: type === 'text' ? 'input_text' : 'input_image', ...rest };
  });
}
