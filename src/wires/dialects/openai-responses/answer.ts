import { field } from '../../json/value.ts';
import type { AnswerFormat } from '../answers/format.ts';
import type { AnswerItem } from '../dialect.ts';

/** Maximum number of characters of one answer's arguments and words that are kept: enough to recognise its calls. */
const MAX_ARGS_CHARS = 64 * 1024;
const MAX_SAID_CHARS = 4_000;

const ITEM_EVENT = 'response.output_item.done';
const LAST_EVENTS = ['response.completed', 'response.incomplete', 'response.failed'];

/** Answers of the responses wire. Source: npm openai 7.57, `ResponseUsage`. */
export const responsesFormat: AnswerFormat = {
  wanted: /response\.(?:output_item\.done|completed|incomplete|failed)/,
  usage: ['response.usage', 'usage'],
  inputIncludesCache: true,
  figures: {
    input: ['input_tokens'],
    output: ['output_tokens'],
    read: ['input_tokens_details.cached_tokens'],
    written: ['input_tokens_details.cache_write_tokens'],
    writtenLong: ['input_tokens_details.cache_write_tokens_details.ttl_12h_tokens'],
    reasoning: ['output_tokens_details.reasoning_tokens'],
  },
  texts: ['delta'],
  id: ['response.id', 'id'],
  transformations: ['response.input_transformations', 'input_transformations'],
  items: itemsOf,
};

/** The items of an event or of a whole answer. The last event of a stream may repeat all of them. */
function itemsOf(event: unknown, type: string, isFirst: boolean): readonly AnswerItem[] {
  if (type === ITEM_EVENT) return [field(event, 'item')].map(itemOf).filter((item) => item !== null);
  const output = field(LAST_EVENTS.includes(type) ? field(event, 'response') : event, 'output');
  return isFirst && Array.isArray(output) ? output.map(itemOf).filter((item) => item !== null) : [];
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

function nameOf(item: unknown): string {
  const namespace = field(item, 'namespace');
  const name = String(field(item, 'name') ?? field(item, 'type') ?? '');
  return typeof namespace === 'string' && namespace !== '' ? `${namespace}__${name}` : name;
}
