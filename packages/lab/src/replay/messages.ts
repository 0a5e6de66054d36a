import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import { announcesResult, textResult } from 'mcp-pruner/wires/transcript/text-results.ts';

/** The parts of a recorded message that the replay reads. */
export interface RecordedMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: unknown;
  readonly function_call?: unknown;
  readonly tool_call_id?: unknown;
  readonly name?: unknown;
}

/** A call in an assistant's message. */
export interface RecordedCall {
  readonly id: string;
  readonly name: string;
  /** JSON text, unchanged. */
  readonly args: string;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The wire of a recorded body. */
export type RecordedWire = 'chat' | 'messages' | 'responses';

/** Detects the wire of a parsed body by the name of its message list and by its items. */
export function wireOf(body: unknown): RecordedWire {
  if (!isObject(body)) return 'chat';
  if (Array.isArray(body.input)) return 'responses';
  const messages: unknown[] = Array.isArray(body.messages) ? body.messages : [];
  const blocks = messages.flatMap((message): unknown[] =>
    isObject(message) && Array.isArray(message.content) ? message.content : [],
  );
  const isTheirs = blocks.some((block) => isObject(block) && BLOCKS.has(stringOf(block.type)));
  return isTheirs || body.system !== undefined || body.anthropic_version !== undefined ? 'messages' : 'chat';
}

/** Block types that only occur on the messages wire. */
const BLOCKS = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'document', 'search_result']);

/**
 * The messages of a parsed body of any wire, or `null` if it is not a request. Messages of other wires are converted to
 * chat/completions: one message per result, and calls in the calling message.
 */
export function messagesOf(body: unknown): RecordedMessage[] | null {
  const wire = wireOf(body);
  if (!isObject(body)) return null;
  if (wire === 'responses') return fromItems(body.input);
  if (wire === 'messages') return fromBlocks(body.messages);
  return fromChat(body.messages);
}

function fromItems(input: unknown): RecordedMessage[] | null {
  const items: unknown[] = Array.isArray(input) ? input : [];
  const messages = items.flatMap((item): RecordedMessage[] => {
    if (!isObject(item)) return [];
    const { type, role, content, call_id, name, output } = item;
    if (typeof role === 'string') return [{ role, content }];
    const args = item.arguments ?? item.input ?? item.action;
    if (args !== undefined && type !== 'reasoning') {
      return [{ role: 'assistant', tool_calls: [{ id: call_id, function: { name: name ?? type, arguments: args } }] }];
    }
    return output === undefined ? [] : [{ role: 'tool', tool_call_id: call_id, content: output }];
  });
  return messages.length > 0 ? messages : null;
}

function fromBlocks(list: unknown): RecordedMessage[] | null {
  const all: unknown[] = Array.isArray(list) ? list : [];
  const messages = all.flatMap((message): RecordedMessage[] => {
    if (!isObject(message) || typeof message.role !== 'string') return [];
    const { role, content } = message;
    if (!Array.isArray(content)) return [{ role, content }];
    const blocks = content.filter(isObject);
    const results = blocks.filter(({ type }) => type === 'tool_result');
    const calls = blocks.filter(({ type }) => type === 'tool_use');
    const rest = blocks.filter((block) => !results.includes(block) && !calls.includes(block));
    const tool_calls = calls.map(({ id, name, input }) => ({ id, function: { name, arguments: input } }));
    const own = { role, content: rest, ...(calls.length > 0 && { tool_calls }) };
    return [
      ...results.map((block) => ({ role: 'tool', tool_call_id: block.tool_use_id, content: block.content })),
      ...(rest.length + calls.length > 0 ? [own] : []),
    ];
  });
  return messages.length > 0 ? messages : null;
}

function fromChat(list: unknown): RecordedMessage[] | null {
  const messages: unknown[] = Array.isArray(list) ? list : [];
  const known = messages.every(
    (message): message is RecordedMessage => isObject(message) && typeof message.role === 'string',
  );
  return known && messages.length > 0 ? (messages as RecordedMessage[]) : null;
}

/** The text of a message: its content, or its concatenated text parts. */
export function textOf({ content }: RecordedMessage): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part) => stringOf(field(part, 'text'))).join('\n');
}

/** Tool calls in a message; the legacy `function_call` counts as a call without id. */
export function callsOf({ tool_calls, function_call }: RecordedMessage): RecordedCall[] {
  const calls: unknown[] = Array.isArray(tool_calls) ? tool_calls : [];
  const all = isObject(function_call) ? [...calls, { function: function_call }] : calls;
  return all.flatMap((call) => {
    if (!isObject(call) || !isObject(call.function)) return [];
    const { name, arguments: input } = call.function;
    const args = typeof input === 'string' ? input : JSON.stringify(input ?? {});
    return [{ id: stringOf(call.id), name: stringOf(name), args }];
  });
}

/** Serialises a message for comparison, without fields that clients move between messages. */
export function identityOf(message: RecordedMessage): string {
  return JSON.stringify(message, (key, value: unknown) => (key === 'cache_control' ? undefined : value));
}

/** All decoded strings in a call's arguments; the raw text if they are not JSON. */
export function stringsIn(args: string): string[] {
  const out: string[] = [];
  const walk = (value: unknown, depth: number): void => {
    if (typeof value === 'string') out.push(value);
    else if (Array.isArray(value) && depth < 20) for (const item of value) walk(item, depth + 1);
    else if (isObject(value) && depth < 20) for (const item of Object.values(value)) walk(item, depth + 1);
  };
  const value = parsed(args);
  if (value === undefined) return [args];
  walk(value, 0);
  return out;
}

/** Lines of a tool result; for one-line JSON, the lines of all strings in it. */
export function resultLines(text: string): string[] {
  const start = text.trimStart();
  const wrapped = (start.startsWith('{') || start.startsWith('[')) && !text.trimEnd().includes('\n');
  if (!wrapped) return text.split('\n');
  return stringsIn(text).flatMap((part) => part.split('\n'));
}

/**
 * The call answered by a user message of an agent without native calls; `null` if the message contains only user words.
 */
export function textResultOf(
  message: RecordedMessage,
  before: RecordedMessage | undefined,
): { readonly call: RecordedCall | undefined } | null {
  const said = before?.role === 'assistant' && callsOf(before).length === 0 ? textOf(before) : '';
  let header = '';
  for (const text of partsOf(message)) {
    const result = textResult(text, said, header);
    if (result) return { call: result.call ? { id: '', ...result.call } : undefined };
    header = announcesResult(text) ? text : '';
  }
  return null;
}

function partsOf(message: RecordedMessage): string[] {
  if (!Array.isArray(message.content)) return [textOf(message)];
  return message.content.map((part) => textOf({ role: message.role, content: [part] }));
}
