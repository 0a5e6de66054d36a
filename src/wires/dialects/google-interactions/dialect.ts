import { field, parsed } from '../../json/value.ts';
import type { AnswerFormat } from '../answers/format.ts';
import { FormatReader } from '../answers/reader.ts';
import type { AnswerItem, Dialect } from '../dialect.ts';
import { googleGemini } from '../google-gemini/dialect.ts';
import { meaningOf } from '../scan-body.ts';
import { scanInteractionsBody } from './scan.ts';

/**
 * `POST …/interactions` as Google defined it (npm @google/genai 3.3). The provider keeps each interaction, and a later
 * one continues it by `previous_interaction_id`. The model's thoughts are steps of the conversation, with signatures.
 */
export const googleInteractions: Dialect = {
  name: 'interactions',
  verifiesHistory: 'with-reasoning',
  keepsHistory: 'items',
  claims: (method, path) => (method === 'POST' && PATH.test(path) ? 'generate' : null),
  scan: scanInteractionsBody,
  meaning: meaningOf,
  answer: () => new FormatReader(FORMAT),
  refusesHistory: () => false,
  refusesToContinue(answer) {
    const error = field(parsed(answer.toString('utf8')), 'error');
    return NOT_FOUND.has(String(field(error, 'status') ?? field(error, 'code')).toUpperCase());
  },
  error: googleGemini.error,
};

const PATH = /^\/v1(?:beta|alpha)?\/interactions$/;
/** The request names nothing else that could be missing but the interaction before, and its model. */
const NOT_FOUND = new Set(['NOT_FOUND', '404']);

const FORMAT: AnswerFormat = {
  wanted: /interaction\.(?:created|completed)|step\.start/,
  usage: ['interaction.usage', 'usage'],
  inputIncludesCache: true,
  figures: {
    input: ['total_input_tokens+total_tool_use_tokens'],
    output: ['total_output_tokens+total_thought_tokens'],
    read: ['total_cached_tokens'],
    reasoning: ['total_thought_tokens'],
  },
  texts: ['text', 'arguments'],
  id: ['interaction.id', 'id'],
  items: itemsOf,
};

/** The step of an event, or all steps of a whole answer. In a stream, the arguments of a call follow in pieces. */
function itemsOf(event: unknown, _type: string, isFirst: boolean): readonly AnswerItem[] {
  if (field(event, 'event_type') === 'step.start') return itemOf(field(event, 'step'));
  const steps = field(event, 'steps') ?? field(field(event, 'interaction'), 'steps');
  return isFirst && Array.isArray(steps) ? steps.flatMap(itemOf) : [];
}

/** Maximum number of characters of a call's arguments and of words that are kept. */
const MAX_ARGS_CHARS = 64 * 1024;
const MAX_SAID_CHARS = 4_000;

function itemOf(step: unknown): AnswerItem[] {
  const type = field(step, 'type');
  if (type === 'model_output') {
    const content = field(step, 'content');
    const words = Array.isArray(content) ? content.map((part) => field(part, 'text')) : [];
    const said = words.filter((text) => typeof text === 'string').join('\n');
    return [{ said: said.slice(-MAX_SAID_CHARS), calls: [] }];
  }
  const id = field(step, 'id');
  if (type !== 'function_call' || typeof id !== 'string') return [];
  const args = JSON.stringify(field(step, 'arguments') ?? {});
  const name = String(field(step, 'name') ?? '');
  return [{ said: '', calls: [{ id, name, args: args.length > MAX_ARGS_CHARS ? '' : args }] }];
}
