import { field } from '../../json/value.ts';
import type { AnswerFormat } from '../answers/format.ts';
import type { AnswerItem } from '../dialect.ts';

/**
 * Answers of the messages wire. Input tokens are in the first event, and may be repeated in the last, which has the
 * output tokens. The input excludes tokens that were read from or written to a cache. A compaction by the provider is a
 * model call of its own. Source: npm @anthropic-ai/sdk 1.14, `BetaUsage`.
 */
export const messagesFormat: AnswerFormat = {
  usage: ['usage', 'message.usage'],
  inputIncludesCache: false,
  figures: {
    input: ['input_tokens'],
    output: ['output_tokens'],
    read: ['cache_read_input_tokens'],
    written: [
      'cache_creation_input_tokens',
      'cache_creation.ephemeral_5m_input_tokens+cache_creation.ephemeral_1h_input_tokens',
    ],
    writtenLong: ['cache_creation.ephemeral_1h_input_tokens'],
    reasoning: ['output_tokens_details.thinking_tokens'],
  },
  besides: (usage) => callsIn(field(usage, 'iterations')).filter((call) => field(call, 'type') === 'compaction'),
  texts: ['text', 'thinking', 'partial_json'],
  id: ['message.id', 'id'],
  transformations: ['message.input_transformations', 'input_transformations'],
  items: itemsOf,
};

/**
 * The calls of an answer, for requests that continue its thread without repeating it. The arguments of a streamed call
 * come in pieces and are left out.
 */
function itemsOf(event: unknown): readonly AnswerItem[] {
  const started = field(event, 'content_block');
  const content: unknown = started === undefined ? field(event, 'content') : [started];
  if (!Array.isArray(content)) return [];
  const calls = content.filter((block) => field(block, 'type') === 'tool_use').map(callOf);
  return calls.length === 0 ? [] : [{ said: '', calls }];
}

function callOf(block: unknown): AnswerItem['calls'][number] {
  const args = JSON.stringify(field(block, 'input') ?? {});
  const [id, name] = [field(block, 'id'), field(block, 'name')].map((value) =>
    typeof value === 'string' ? value : '',
  );
  return { id: id ?? '', name: name ?? '', args: args === '{}' || args.length > MAX_ARGS_CHARS ? '' : args };
}

const MAX_ARGS_CHARS = 64 * 1024;

function callsIn(iterations: unknown): object[] {
  return Array.isArray(iterations) ? iterations.filter((call) => typeof call === 'object' && call !== null) : [];
}
