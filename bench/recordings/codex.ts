import { type Form, type Message, outputPriceOf, timeOf, toolCall, type Usage } from './conversation.ts';
import { entriesOf, recordingsOf, Thread } from './entries.ts';

interface Part {
  readonly text?: string;
}

interface Payload {
  readonly type?: string;
  readonly id?: string;
  readonly role?: string;
  readonly name?: string;
  readonly model?: string;
  readonly message?: string;
  readonly content?: readonly Part[];
  readonly arguments?: string;
  readonly input?: string;
  readonly action?: unknown;
  readonly call_id?: string;
  readonly output?: string | readonly Part[] | { readonly content?: string };
  readonly replacement_history?: readonly Payload[];
  readonly info?: {
    readonly total_token_usage?: unknown;
    readonly last_token_usage?: Readonly<Record<string, number>>;
  };
}

interface Entry {
  readonly type: string;
  readonly timestamp?: string;
  readonly payload?: Payload;
}

/** A session of Codex as it is read: the answer that its items are added to, until a bill closes it. */
class Session {
  readonly threads = [new Thread()];
  id = '';
  model = '';
  #answer = -1;
  #billed = '';

  get thread(): Thread {
    return this.threads.at(-1) ?? new Thread();
  }

  add({ type, timestamp, payload = {} }: Entry): void {
    const timeMs = timeOf(timestamp);
    if (type === 'session_meta') this.id ||= payload.id ?? '';
    else if (type === 'turn_context') this.model = payload.model ?? this.model;
    else if (type === 'response_item') this.#item(payload, timeMs);
    else if (type === 'compacted') this.#compact(payload, timeMs);
    else if (type === 'event_msg' && payload.type === 'token_count') this.#bill(payload);
  }

  #item(item: Payload, timeMs: number): void {
    const { thread } = this;
    const said = saidIn(item);
    if (said !== null) {
      if (this.#answer < 0) this.#answer = thread.answer(said, timeMs);
      else thread.extend(this.#answer, said, timeMs);
    } else if (item.output !== undefined) thread.result(item.call_id ?? '', outputOf(item.output), timeMs);
    else if (item.role !== undefined)
      thread.words(item.role === 'user' ? 'user' : 'system', textIn(item.content), timeMs);
  }

  #compact({ replacement_history: history, message = '' }: Payload, timeMs: number): void {
    this.threads.push(new Thread());
    this.#answer = -1;
    for (const item of history ?? []) this.#item(item, timeMs);
    if (history === undefined) this.thread.words('user', message, timeMs);
    this.#answer = -1;
  }

  /** The same bill comes again when something else about limits is reported. */
  #bill({ info }: Payload): void {
    const total = JSON.stringify(info?.total_token_usage ?? null);
    const last = info?.last_token_usage;
    if (last === undefined || total === this.#billed || this.#answer < 0) return;
    this.#billed = total;
    const { input_tokens: input = 0, cached_input_tokens: read = 0, output_tokens: output = 0 } = last;
    const usage: Usage = { at: this.#answer, fresh: Math.max(0, input - read), read, written: 0, written1h: 0, output };
    this.thread.bill({ ...usage, ...(this.model !== '' && { model: this.model }) });
    this.#answer = -1;
  }
}

/** Sessions of Codex: items of the conversation, and a bill behind the items of each answer. */
export const codex: Form = {
  about: 'sessions of Codex (*.jsonl that begin with session_meta)',
  matches: (path) => path.endsWith('.jsonl'),
  read: (text) => {
    if (!text.slice(0, 400).includes('"session_meta"')) return [];
    const session = new Session();
    for (const entry of entriesOf<Entry>(text)) session.add(entry);
    const { threads, id, model } = session;
    return recordingsOf(threads, { agent: 'Codex', session: id, outputPrice: outputPriceOf(`${model} gpt`) });
  },
};

/** What an item is of an answer of the model's, or `null` when it is none. */
function saidIn(item: Payload): Message | null {
  const { type, role, name = '', call_id = '' } = item;
  if (role === 'assistant') return { role, content: textIn(item.content) };
  if (type === 'function_call') {
    return { role: 'assistant', content: '', tool_calls: [rawCall(call_id, name, item.arguments ?? '')] };
  }
  if (type === 'custom_tool_call') {
    return { role: 'assistant', content: '', tool_calls: [rawCall(call_id, name, item.input ?? '')] };
  }
  if (type === 'local_shell_call') {
    return { role: 'assistant', content: '', tool_calls: [toolCall(call_id, 'local_shell', item.action)] };
  }
  return null;
}

function rawCall(id: string, name: string, args: string): Message {
  return { id, type: 'function', function: { name, arguments: args } };
}

function outputOf(output: NonNullable<Payload['output']>): string {
  if (typeof output === 'string') return output;
  return 'content' in output ? (output.content ?? '') : textIn(output as readonly Part[]);
}

function textIn(content: readonly Part[] | undefined): string {
  return (content ?? []).map(({ text = '' }) => text).join('\n');
}
