import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import { BranchedThread } from './chat-thread.ts';
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
 * Reads a session of pi (`~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl`; docs/session-format.md of
 * `@earendil-works/pi-coding-agent`): a header, and entries that form a tree by `id` and `parentId`. Assistant messages are
 * requests with their usage. A fork copies entries with their ids and times into a file of its own.
 */
export class PiSession implements SessionReader {
  readonly #thread = new BranchedThread();
  readonly #requests: SessionRequest[] = [];
  #id = '';
  #project = '';

  line(text: string): void {
    const entry = parsed(text);
    const type = textOf(field(entry, 'type'));
    if (type === 'session') {
      this.#id ||= textOf(field(entry, 'id'));
      this.#project = projectOf(field(entry, 'cwd'));
      return;
    }
    if (type === '') return;
    const parent = field(entry, 'parentId');
    if (parent !== undefined && !this.#thread.backTo(textOf(parent))) this.#thread.begin();
    const message = field(entry, 'message');
    if (type === 'message') this.#message(entry, message);
    else if (type === 'compaction') this.#compacted(entry);
    else if (type === 'branch_summary') this.#thread.user(textOf(field(entry, 'summary')));
    else if (type === 'custom_message') this.#thread.user(wordsIn(field(entry, 'content')));
    // summaries and cache warming are billed apart from the conversation
    if (type !== 'message') this.#bill(entry, entry, 'other');
    this.#thread.endEntry(textOf(field(entry, 'id')));
  }

  end(): Session {
    return { requests: this.#requests, offered: new Set(), id: this.#id };
  }

  #message(entry: unknown, message: unknown): void {
    const role = field(message, 'role');
    const content = field(message, 'content');
    if (role === 'user') this.#thread.user(wordsIn(content));
    if (role === 'toolResult') this.#thread.result(textOf(field(message, 'toolCallId')), wordsIn(content));
    if (role !== 'assistant') return;
    this.#bill(entry, message, 'main');
    const calls = listOf(content).filter((part) => field(part, 'type') === 'toolCall');
    this.#thread.assistant(
      wordsIn(content),
      calls.map((call) => ({
        id: textOf(field(call, 'id')),
        name: textOf(field(call, 'name')),
        args: field(call, 'arguments'),
      })),
    );
  }

  #compacted(entry: unknown): void {
    const kept = this.#thread.since(field(entry, 'firstKeptEntryId'));
    this.#thread.begin();
    this.#thread.user(textOf(field(entry, 'summary')));
    this.#thread.restart([...this.#thread.messages, ...kept]);
  }

  /** @param of - where usage and model stand */
  #bill(entry: unknown, of: unknown, thread: 'main' | 'other'): void {
    const usage = field(of, 'usage');
    const [read, written] = [numberOf(field(usage, 'cacheRead')), numberOf(field(usage, 'cacheWrite'))];
    const input = numberOf(field(usage, 'input')) + read + written;
    if (input === 0) return;
    const isMain = thread === 'main';
    this.#requests.push({
      key: `${textOf(field(entry, 'id'))}\n${textOf(field(entry, 'timestamp'))}`,
      ...{ thread, wire: 'chat', project: this.#project },
      atMs: Date.parse(textOf(field(entry, 'timestamp'))) || 0,
      model: textOf(field(of, 'model')),
      length: isMain ? this.#thread.fit(input) : 0,
      history: isMain ? this.#thread.messages : [],
      usage: {
        ...{ input, read, written, output: numberOf(field(usage, 'output')) },
        written1h: numberOf(field(usage, 'cacheWrite1h')),
      },
      reasoning: numberOf(field(usage, 'reasoning')),
    });
  }
}

function wordsIn(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => (field(part, 'type') === 'text' ? textOf(field(part, 'text')) : ''))
    .filter((words) => words !== '')
    .join('\n');
}
