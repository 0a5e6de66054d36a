import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import { BranchedThread } from './chat-thread.ts';
import { wordsOf } from './gemini.ts';
import {
  listOf,
  numberOf,
  projectOf,
  type Session,
  type SessionReader,
  type SessionRequest,
  textOf,
} from './recorded.ts';

/**
 * Reads a session of Qwen Code (`~/.qwen/projects/<folder>/chats/<session>.jsonl`): records of type `user`, `assistant`,
 * `tool_result` and `system`, linked by `uuid` and `parentUuid`, each with a message of Google's format. Those of
 * `assistant` have model and usage. A record of subtype `chat_compression` holds the history that replaces all before it.
 */
export class QwenSession implements SessionReader {
  readonly #thread = new BranchedThread();
  readonly #requests: SessionRequest[] = [];

  line(text: string): void {
    const record = parsed(text);
    const type = field(record, 'type');
    if (typeof type !== 'string') return;
    const parent = field(record, 'parentUuid');
    if (typeof parent === 'string') this.#thread.backTo(parent);
    const message = field(record, 'message');
    if (field(record, 'subtype') === 'chat_compression') this.#compressed(field(record, 'systemPayload'));
    else if (type === 'assistant') this.#said(record, message);
    else if (type === 'user' || type === 'tool_result') this.#received(message);
    this.#thread.endEntry(textOf(field(record, 'uuid')));
  }

  end(): Session {
    return { requests: this.#requests, offered: new Set() };
  }

  #said(record: unknown, message: unknown): void {
    const usage = field(record, 'usageMetadata');
    const input = numberOf(field(usage, 'promptTokenCount'));
    const thoughts = numberOf(field(usage, 'thoughtsTokenCount'));
    if (input > 0) {
      this.#requests.push({
        key: textOf(field(record, 'uuid')),
        ...{ thread: 'main', wire: 'chat', project: projectOf(field(record, 'cwd')), reasoning: thoughts },
        atMs: Date.parse(textOf(field(record, 'timestamp'))) || 0,
        model: textOf(field(record, 'model')),
        length: this.#thread.fit(input),
        history: this.#thread.messages,
        usage: {
          input,
          output: outputOf(usage, input, thoughts),
          read: numberOf(field(usage, 'cachedContentTokenCount')),
          ...{ written: null, written1h: null },
        },
      });
    }
    const parts = listOf(field(message, 'parts'));
    const calls = parts.map((part) => field(part, 'functionCall')).filter((call) => call !== undefined);
    this.#thread.assistant(
      wordsOf(parts.filter((part) => field(part, 'thought') !== true)),
      calls.map((call) => ({
        id: textOf(field(call, 'id')),
        name: textOf(field(call, 'name')),
        args: field(call, 'args'),
      })),
    );
  }

  #received(message: unknown): void {
    const parts = listOf(field(message, 'parts'));
    const results = parts.filter((part) => field(part, 'functionResponse') !== undefined);
    this.#thread.user(wordsOf(parts.filter((part) => !results.includes(part))));
    for (const part of results)
      this.#thread.result(textOf(field(field(part, 'functionResponse'), 'id')), wordsOf([part]));
  }

  #compressed(payload: unknown): void {
    this.#thread.begin();
    for (const message of listOf(field(payload, 'compressedHistory'))) {
      if (field(message, 'role') === 'model') this.#said(null, message);
      else this.#received(message);
    }
  }
}

/** The output with its reasoning, which some providers count beside it: the total shows which. */
function outputOf(usage: unknown, input: number, thoughts: number): number {
  const output = numberOf(field(usage, 'candidatesTokenCount'));
  const total = numberOf(field(usage, 'totalTokenCount'));
  return total >= input + output && total <= input + output + thoughts ? total - input : output;
}
