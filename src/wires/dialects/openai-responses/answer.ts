import { field, finiteNumber } from '../../json/value.ts';
import type { AnswerItem, AnswerReader, AnswerTurn, ProviderUsage } from '../dialect.ts';
import { EventData } from '../sse.ts';

/** The first bytes of an event, which name its type. */
const TYPE_BYTES = 80;
/** Maximum number of items and characters of one answer that are kept: enough to recognise the results of its calls. */
const MAX_ITEMS = 256;
const MAX_ARGS_CHARS = 64 * 1024;
const MAX_SAID_CHARS = 4_000;

const LAST_EVENTS = ['response.completed', 'response.incomplete', 'response.failed'];
const ITEM_EVENT = 'response.output_item.done';

/**
 * Reads the usage of an answer of the responses wire, and the items that later requests may refer to without repeating
 * them.
 */
export class ResponsesAnswer implements AnswerReader {
  readonly #events = new EventData(
    isWanted,
    (event) => this.#event(event),
    (response) => this.#response(response),
  );
  /** The items so far; the last event of an answer may bring all of them again. */
  #items: AnswerItem[] = [];
  #id = '';
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
    return this.#id === '' ? null : { id: this.#id, items: this.#items };
  }

  /** One event of a stream or a WebSocket. */
  #event(value: unknown): void {
    if (field(value, 'type') === ITEM_EVENT) this.#item(field(value, 'item'));
    else if (LAST_EVENTS.includes(String(field(value, 'type')))) this.#response(field(value, 'response'));
  }

  #response(response: unknown): void {
    const usage = field(response, 'usage');
    if (usage !== null && typeof usage === 'object') this.#usage = usageOf(usage);
    const id = field(response, 'id');
    if (typeof id === 'string') this.#id = id;
    const output: unknown = field(response, 'output');
    if (!Array.isArray(output) || output.length === 0) return;
    this.#items = [];
    for (const item of output) this.#item(item);
  }

  #item(item: unknown): void {
    const read = itemOf(item);
    if (read && this.#items.length < MAX_ITEMS) this.#items.push(read);
  }
}

/** The words or the call of an item; `null` for reasoning and other items. */
function itemOf(item: unknown): AnswerItem | null {
  if (field(item, 'type') === 'message') return { said: saidIn(field(item, 'content')), calls: [] };
  const args = field(item, 'arguments') ?? field(item, 'input') ?? field(item, 'action');
  const ids = [field(item, 'call_id'), field(item, 'type') === 'local_shell_call' ? field(item, 'id') : undefined];
  const known = ids.filter((id) => typeof id === 'string');
  if (args === undefined || known.length === 0) return null;
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  const call = { name: nameOf(item), args: text.length > MAX_ARGS_CHARS ? '' : text };
  return { said: '', calls: known.map((id) => ({ id, ...call })) };
}

function saidIn(content: unknown): string {
  if (!Array.isArray(content)) return '';
  const words = content.map((part) => field(part, 'text')).filter((text) => typeof text === 'string');
  return words.join('\n').slice(-MAX_SAID_CHARS);
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
  const written = finiteNumber(field(field(usage, 'input_tokens_details'), 'cache_write_tokens'));
  const reasoning = finiteNumber(field(field(usage, 'output_tokens_details'), 'reasoning_tokens'));
  return {
    promptTokens: finiteNumber(field(usage, 'input_tokens')),
    completionTokens: finiteNumber(field(usage, 'output_tokens')),
    cachedTokens: finiteNumber(field(field(usage, 'input_tokens_details'), 'cached_tokens')),
    cacheWriteTokens: written ?? undefined,
    reasoningTokens: reasoning ?? undefined,
  };
}
