import { count, field } from '../../json/value.ts';
import type { AnswerReader, AnswerTurn, ProviderUsage } from '../dialect.ts';
import { EventData } from '../sse.ts';

/** Where an event says of which type it is. */
const TYPE_BYTES = 80;
/** Calls and characters of one answer that are remembered: what a result must be known by, and no more. */
const MAX_CALLS = 256;
const MAX_ARGS_CHARS = 64 * 1024;
const MAX_SAID_CHARS = 4_000;

const LAST_EVENTS = ['response.completed', 'response.incomplete', 'response.failed'];
const ITEM_EVENT = 'response.output_item.done';

/** Reads the usage of an answer of the responses wire, and what later requests may answer without repeating it. */
export class ResponsesAnswer implements AnswerReader {
  readonly #events = new EventData(
    isWanted,
    (event) => this.#event(event),
    (response) => this.#response(response),
  );
  readonly #calls = new Map<string, AnswerTurn['calls'][number]>();
  #id = '';
  #said = '';
  #usage: ProviderUsage | null = null;

  data(chunk: Buffer): void {
    this.#events.data(chunk);
  }

  usage(): ProviderUsage | null {
    this.#events.end();
    return this.#usage;
  }

  turn(): AnswerTurn | null {
    this.#events.end();
    return this.#id === '' ? null : { id: this.#id, said: this.#said, calls: [...this.#calls.values()] };
  }

  /** One event, as a stream of events and a WebSocket bring it. */
  #event(value: unknown): void {
    if (field(value, 'type') === ITEM_EVENT) this.#item(field(value, 'item'));
    else if (LAST_EVENTS.includes(String(field(value, 'type')))) this.#response(field(value, 'response'));
  }

  #response(response: unknown): void {
    const usage = field(response, 'usage');
    if (usage !== null && typeof usage === 'object') this.#usage = usageOf(usage);
    const id = field(response, 'id');
    if (typeof id === 'string') this.#id = id;
    const output = field(response, 'output');
    if (Array.isArray(output)) for (const item of output) this.#item(item);
  }

  #item(item: unknown): void {
    if (field(item, 'type') === 'message') this.#say(field(item, 'content'));
    const args = field(item, 'arguments') ?? field(item, 'input') ?? field(item, 'action');
    const id = field(item, 'call_id') ?? field(item, 'id');
    if (args === undefined || typeof id !== 'string' || this.#calls.size >= MAX_CALLS) return;
    const text = typeof args === 'string' ? args : JSON.stringify(args);
    this.#calls.set(id, { id, name: nameOf(item), args: text.length > MAX_ARGS_CHARS ? '' : text });
  }

  #say(content: unknown): void {
    if (!Array.isArray(content)) return;
    const words = content.map((part) => field(part, 'text')).filter((text) => typeof text === 'string');
    const said = words.join('\n');
    // an item comes by itself and again in the answer's last event
    if (!this.#said.endsWith(said)) this.#said = `${this.#said}\n${said}`.trim().slice(-MAX_SAID_CHARS);
  }
}

function isWanted(line: Buffer): boolean {
  const type = line.toString('latin1', 0, TYPE_BYTES);
  return type.includes(ITEM_EVENT) || LAST_EVENTS.some((last) => type.includes(last));
}

function nameOf(item: unknown): string {
  const namespace = field(item, 'namespace');
  const name = String(field(item, 'name') ?? field(item, 'type') ?? '');
  return typeof namespace === 'string' && namespace !== '' ? `${namespace}__${name}` : name;
}

function usageOf(usage: object): ProviderUsage {
  const written = count(field(field(usage, 'input_tokens_details'), 'cache_write_tokens'));
  return {
    promptTokens: count(field(usage, 'input_tokens')),
    completionTokens: count(field(usage, 'output_tokens')),
    cachedTokens: count(field(field(usage, 'input_tokens_details'), 'cached_tokens')),
    ...(written !== null && { cacheWriteTokens: written }),
  };
}
