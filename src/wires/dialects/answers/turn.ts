import { field } from '../../json/value.ts';
import type { AnswerItem, AnswerTurn } from '../dialect.ts';
import { type Fields, PARTS } from './figures.ts';

const MAX_DEPTH = 12;
const NO_ITEMS: readonly unknown[] = [];
const MAX_CALLS = 256;
const MAX_ITEMS = 256;
/** Limit for the kept characters of a call's arguments, and of text: enough to recognise a call. */
const MAX_ARGS_CHARS = 64 * 1024;
const MAX_SAID_CHARS = 4_000;

/** Item types in which the model calls a tool of the client. */
const CALL_TYPES = new Set(['tool_use', 'function_call', 'custom_tool_call']);
/** Fields whose object contains the name of a called tool. */
const CALL_FIELDS = ['functionCall', 'function_call', 'function', 'toolUse'];
/** Fields that never contain calls: arguments, and tools repeated in a response. */
const SKIPPED_FIELDS = new Set(['input', 'arguments', 'args', 'tools']);
/** Calls whose own id may be referred to by a later request. */
const NAMED_BY_ID = new Set(['tool_use', 'local_shell_call']);
/** Events of an unfinished response, which no request can continue. */
const UNFINISHED = /^response\.(?:created|in_progress|queued)$/;
/** Item types with the model's text. */
const SAID_TYPES = new Set(['message', 'model_output']);

/** Collects the model's turn: id, items, and called tools by declared name. */
export class TurnReader {
  #id = '';
  readonly #items: AnswerItem[] = [];
  /** Call ids per tool, so that a call repeated in several events counts once. */
  readonly #calls = new Map<string, Set<string>>();
  #size = 0;

  /** Adds an event or a whole answer. */
  add(event: Fields, type: string): void {
    if (!UNFINISHED.test(type)) this.#name(event);
    for (const raw of itemsIn(event, type, this.#items.length === 0)) {
      const item = itemOf(raw);
      if (item !== null && this.#items.length < MAX_ITEMS) this.#items.push(item);
    }
    this.#collect(event, 0);
  }

  /** The id of an event itself counts more than that of an object in it. */
  #name(event: Fields): void {
    for (const name of PARTS) {
      const part = event[name];
      const id = typeof part === 'object' && part !== null ? (part as Fields).id : undefined;
      if (typeof id === 'string' && id !== '') this.#id = id;
    }
    if (typeof event.id === 'string' && event.id !== '') this.#id = event.id;
  }

  turn(): AnswerTurn {
    const calls = new Map<string, number>();
    for (const [name, ids] of this.#calls) calls.set(name, ids.size);
    return { id: this.#id, items: this.#items, calls };
  }

  #collect(fields: Fields, depth: number): void {
    if (CALL_TYPES.has(fields.type as string)) this.#count(fields, fields);
    for (const name of CALL_FIELDS) {
      const called = fields[name];
      if (typeof called === 'object' && called !== null) this.#count(called as Fields, fields);
    }
    if (depth === MAX_DEPTH) return;
    for (const name in fields) {
      const inner = fields[name];
      if (typeof inner === 'object' && inner !== null && !SKIPPED_FIELDS.has(name))
        this.#collect(inner as Fields, depth + 1);
    }
  }

  #count(named: Fields, call: Fields): void {
    const name = nameOf(named);
    if (name === '') return;
    const ids = this.#calls.get(name) ?? new Set();
    const id = String(call.call_id ?? call.id ?? named.id ?? named.toolUseId ?? `#${ids.size}`);
    if (ids.has(id) || this.#size >= MAX_CALLS) return;
    this.#size++;
    this.#calls.set(name, ids.add(id));
  }
}

/** Items of an event or a whole answer. The last event of a stream may repeat all of them. */
function itemsIn(event: Fields, type: string, isFirst: boolean): readonly unknown[] {
  const added = type === 'response.output_item.done' ? event.item : event.content_block;
  if (added !== undefined) return [added];
  if (event.event_type === 'step.start') return [event.step];
  if (!isFirst) return NO_ITEMS;
  const { response, output, content, steps, interaction } = event;
  const inResponse = response === undefined ? undefined : field(response, 'output');
  if (Array.isArray(inResponse)) return inResponse;
  if (Array.isArray(output)) return output;
  if (Array.isArray(content)) return content;
  if (Array.isArray(steps)) return steps;
  const inInteraction = interaction === undefined ? undefined : field(interaction, 'steps');
  return Array.isArray(inInteraction) ? inInteraction : NO_ITEMS;
}

/** Text or call of an item; `null` for reasoning and other items. A streamed call may lack its arguments. */
function itemOf(item: unknown): AnswerItem | null {
  const { type, id, call_id, content } = Object(item) as Fields;
  if (SAID_TYPES.has(String(type))) return { said: saidIn(content), calls: [] };
  const args = field(item, 'arguments') ?? field(item, 'input') ?? field(item, 'action');
  const isNamedById = NAMED_BY_ID.has(String(type)) || (type === 'function_call' && call_id === undefined);
  const ids = [call_id, isNamedById ? id : undefined].filter((known) => typeof known === 'string');
  if (args === undefined || ids.length === 0) return null;
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  const isKept = text.length <= MAX_ARGS_CHARS && !(type === 'tool_use' && text === '{}');
  const call = { name: nameOf(item as Fields) || String(type ?? ''), args: isKept ? text : '' };
  return { said: '', calls: ids.map((known) => ({ id: known, ...call })) };
}

function saidIn(content: unknown): string {
  if (!Array.isArray(content)) return '';
  const words = content.map((part) => field(part, 'text')).filter((text) => typeof text === 'string');
  return words.join('\n').slice(-MAX_SAID_CHARS);
}

function nameOf({ name, namespace }: Fields): string {
  if (typeof name !== 'string') return '';
  return typeof namespace === 'string' && namespace !== '' && name !== '' ? `${namespace}__${name}` : name;
}
