/** A block of a message of the messages wire. */
export type Block = Readonly<Record<string, unknown>> & { readonly type: string };

/** A message of the messages wire. */
export interface WireMessage {
  readonly role: string;
  readonly content: string | readonly Block[];
}

/** A call of a tool. */
export function toolUse(id: string, name: string, input: object): Block {
  return { type: 'tool_use', id, name, input };
}

/** The result of a call, in the spelling of Claude Code. */
export function toolResult(id: string, content: unknown): Block {
  return { tool_use_id: id, type: 'tool_result', content };
}

/** The user's question, a call, and its large result. */
export function oneCall(content: unknown, { id = 'toolu_1', name = 'Bash', input = { command: 'npm start' } } = {}) {
  return [
    { role: 'user', content: 'Why does the checkout fail for some customers? Find the failing payment.' },
    { role: 'assistant', content: [toolUse(id, name, input)] },
    { role: 'user', content: [toolResult(id, content)] },
  ] satisfies WireMessage[];
}

/** The bytes of a request, compact as the official client writes it. */
export function messagesBody(messages: readonly WireMessage[], more: Readonly<Record<string, unknown>> = {}): Buffer {
  const system = [{ type: 'text', text: 'You are a careful engineer.' }];
  return Buffer.from(JSON.stringify({ model: 'claude-test', max_tokens: 1_000, system, messages, ...more }));
}

/** The messages of a body as sent. */
export function wireMessages(body: Buffer): WireMessage[] {
  return (JSON.parse(body.toString('utf8')) as { messages: WireMessage[] }).messages;
}
