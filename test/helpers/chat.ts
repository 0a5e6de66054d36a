/** A message of a chat request; any other fields. */
export type Message = { readonly role: string; readonly [field: string]: unknown };

/** A call of a tool and its result, as two messages. */
export function toolTurn(
  id: string,
  name: string,
  args: object,
  content: unknown,
  said: string | null = null,
): Message[] {
  const call = { id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
  return [
    { role: 'assistant', content: said, tool_calls: [call] },
    { role: 'tool', tool_call_id: id, content },
  ];
}

/** The bytes of a request, compact as the official client writes it; the messages stand last. */
export function chatBody(messages: readonly Message[], more: Record<string, unknown> = {}): Buffer {
  return Buffer.from(JSON.stringify({ model: 'gpt-test', ...more, messages }));
}

/** The user's question and one large result of a tool. */
export function oneResult(
  content: unknown,
  { id = 'call_1', tool = 'bash', args = { command: 'npm start' } as object } = {},
): Message[] {
  return [
    { role: 'system', content: 'You are a careful engineer.' },
    { role: 'user', content: 'Why does the checkout fail for some customers? Find the failing payment.' },
    ...toolTurn(id, tool, args, content),
  ];
}

/** The messages of a body as sent. */
export function messagesOf(body: Buffer): Message[] {
  return (JSON.parse(body.toString('utf8')) as { messages: Message[] }).messages;
}

/** The content of one message of a body, which must be a string. */
export function contentAt(body: Buffer, index: number): string {
  const content = messagesOf(body).at(index)?.content;
  if (typeof content !== 'string') throw new Error(`message ${index} has no plain content`);
  return content;
}

/** The bytes of a body whose messages stand last, up to the end of its last message. */
export function messageBytes(body: Buffer): Buffer {
  return body.subarray(0, body.lastIndexOf(']'));
}
