import { announcesResult, textResult } from '../../transcript/text-results.ts';

/** A message of a recorded request, as far as the replay reads it. */
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
  /** JSON in a string, as it came. */
  readonly args: string;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The messages of a parsed chat/completions body, or `null` when it is none. */
export function messagesOf(body: unknown): RecordedMessage[] | null {
  if (!isObject(body) || !Array.isArray(body.messages)) return null;
  const messages: unknown[] = body.messages;
  const known = messages.every(
    (message): message is RecordedMessage => isObject(message) && typeof message.role === 'string',
  );
  return known && messages.length > 0 ? (messages as RecordedMessage[]) : null;
}

/** The text of a message: its content, or its text parts one after the other. */
export function textOf({ content }: RecordedMessage): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const parts: unknown[] = content;
  return parts.map((part) => (isObject(part) ? stringOf(part.text) : '')).join('\n');
}

/** Calls of tools in a message; the legacy `function_call` counts as one without an id. */
export function callsOf({ tool_calls, function_call }: RecordedMessage): RecordedCall[] {
  const calls: unknown[] = Array.isArray(tool_calls) ? tool_calls : [];
  const all = isObject(function_call) ? [...calls, { function: function_call }] : calls;
  return all.flatMap((call) => {
    if (!isObject(call) || !isObject(call.function)) return [];
    const { name, arguments: args } = call.function;
    return [
      {
        id: stringOf(call.id),
        name: stringOf(name),
        args: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
      },
    ];
  });
}

/** A message as one string, for comparing: fields that clients move from message to message are left out. */
export function identityOf(message: RecordedMessage): string {
  return JSON.stringify(message, (key, value: unknown) => (key === 'cache_control' ? undefined : value));
}

/** Every string in a call's arguments, decoded; the raw text when they are no JSON. */
export function stringsIn(args: string): string[] {
  const out: string[] = [];
  const walk = (value: unknown, depth: number): void => {
    if (typeof value === 'string') out.push(value);
    else if (Array.isArray(value) && depth < 20) for (const item of value) walk(item, depth + 1);
    else if (isObject(value) && depth < 20) for (const item of Object.values(value)) walk(item, depth + 1);
  };
  try {
    walk(JSON.parse(args), 0);
  } catch {
    return [args];
  }
  return out;
}

/** Lines of a tool result; where it is JSON on one line, those of the long strings in it. */
export function resultLines(text: string): string[] {
  const start = text.trimStart();
  const wrapped = (start.startsWith('{') || start.startsWith('[')) && !text.trimEnd().includes('\n');
  if (!wrapped) return text.split('\n');
  return stringsIn(text).flatMap((part) => part.split('\n'));
}

/** The call that a user's message answers, where an agent without native calls sends results so; `null` for words. */
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
