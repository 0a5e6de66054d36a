import { type Block, messagesBody, toolResult, toolUse, type WireMessage } from './messages.ts';
import type { SigningModel } from './signing-upstream.ts';

/** What came back for a request. */
export interface Turn {
  readonly status: number;
  readonly text: string;
}

/** A coding agent of the messages wire, as Claude Code speaks it: it repeats the conversation and moves `cache_control`. */
export class ClaudeAgent {
  readonly #model: SigningModel;
  messages: WireMessage[];
  /** What it declares; absent: nothing. */
  readonly #tools: readonly object[] | undefined;
  #calls = 0;

  constructor(model: SigningModel, messages: readonly WireMessage[] = [], tools?: readonly object[]) {
    this.#model = model;
    this.messages = [...messages];
    this.#tools = tools;
  }

  /** A copy that goes its own way from here. */
  fork(): ClaudeAgent {
    const other = new ClaudeAgent(this.#model, this.messages, this.#tools);
    other.#calls = this.#calls + 10_000;
    return other;
  }

  user(words: string): void {
    this.messages.push({ role: 'user', content: words });
  }

  /** The results of all calls in the last answer, in one message. */
  results(texts: readonly string[]): void {
    const last = this.messages.at(-1);
    const calls =
      typeof last?.content === 'string' ? [] : (last?.content.filter(({ type }) => type === 'tool_use') ?? []);
    const blocks = calls.map(({ id }, i) => toolResult(String(id), texts[i] ?? 'ok'));
    this.messages.push({ role: 'user', content: blocks });
  }

  /** Takes the last answer back, to have it made again. */
  regenerate(): void {
    while (this.messages.at(-1)?.role !== 'user') this.messages.pop();
  }

  /** Starts over from a summary, as clients do when a context is full; what was thought does not come along. */
  compact(): void {
    this.messages = [{ role: 'user', content: `What was done so far: ${this.messages.length} messages. Go on.` }];
  }

  /**
   * Sends the conversation and takes what the model answers into it.
   *
   * @param calls - commands that the model runs next; none: it says that it is done
   */
  async send(
    url: string,
    calls: readonly string[] = [],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Turn> {
    this.#model.says =
      calls.length === 0
        ? [{ type: 'text', text: 'Done.' }]
        : calls.map((command) => toolUse(`toolu_${this.#calls++}`, 'Bash', { command }));
    const answer = await this.#post(`${url}/v1/messages?beta=true`, headers);
    const text = await answer.text();
    if (answer.status === 200) {
      const { content } = JSON.parse(text) as { content: readonly Block[] };
      this.messages.push({ role: 'assistant', content });
    }
    return { status: answer.status, text };
  }

  /** Has the tokens of the conversation counted. */
  async count(url: string): Promise<number> {
    return (await this.#post(`${url}/v1/messages/count_tokens?beta=true`, {})).status;
  }

  #post(url: string, headers: Readonly<Record<string, string>>): Promise<Response> {
    const fields = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01', ...headers };
    const more = this.#tools && { tools: this.#tools };
    return fetch(url, { method: 'POST', headers: fields, body: messagesBody(this.messages.map(spelled), more) });
  }
}

/** The last message carries the mark of the cache, for which its text must be a block. */
function spelled(message: WireMessage, index: number, { length }: readonly WireMessage[]): WireMessage {
  if (index < length - 1) return message;
  const blocks: readonly Block[] =
    typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content;
  const marked = blocks.map((block, i) =>
    i === blocks.length - 1 ? { ...block, cache_control: { type: 'ephemeral' } } : block,
  );
  return { role: message.role, content: marked };
}
