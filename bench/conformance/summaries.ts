import type { Exchange, Reply } from './answering.ts';
import { named } from './answering.ts';
import { digest } from './chain.ts';
import type { Json } from './types.ts';

/** The beta feature without which the provider knows no summaries. */
export const BETA = 'compact-2026-09-04';
const MAX_INSTRUCTIONS = 16_384;
const REFUSED = 400;
/** Fields that a compaction request must not have. */
const FORBIDDEN = ['tool_choice', 'stop_sequences', 'context_management', 'thread'];

/** What a block stands for. */
export interface Summary {
  /** The block, as it was sent to the client. */
  readonly raw: string;
  readonly model: string;
  /** The messages or items, as if nothing had been replaced before. */
  readonly items: readonly Json[];
}

/** What the model thought with a summary before it does not fit what the summary stands for. */
export function sinceSummary(before: string): string {
  return digest('summary', before);
}

export function isBlock({ type }: Json): boolean {
  return type === 'compaction' || type === 'compaction_summary';
}

/** Whether a request asks for a summary. */
export function asksForSummary({ compaction, input }: Json): boolean {
  return compaction !== undefined || (Array.isArray(input) && (input as Json[]).at(-1)?.type === 'compaction_trigger');
}

/** The messages or items that a summary at the beginning stands for. */
export function replacedBy(
  first: Json | undefined,
  summaries: ReadonlyMap<string, Summary>,
): readonly Json[] | undefined {
  const [block = first] = first === undefined ? [] : blocksIn(first);
  return summaries.get(String(block?.signature ?? block?.encrypted_content))?.items;
}

/** Whether a request begins with a summary. */
export function hasSummary({ messages, input }: Json): boolean {
  const items = (messages ?? input) as Json[];
  return Array.isArray(items) && items.some((item) => isBlock(item) || blocksIn(item).length > 0);
}

function blocksIn({ content }: Json): Json[] {
  return Array.isArray(content) ? (content as Json[]).filter(isBlock) : [];
}

/** The summary with which the messages begin; `null` without one; a text if the provider refuses it. */
export function summaryIn({ body, headers, summaries }: Exchange, messages: readonly Json[]): Summary | string | null {
  const all = messages.flatMap((message) => blocksIn(message));
  const [block] = all;
  if (block === undefined) return null;
  if (!String(headers['anthropic-beta'] ?? '').includes(BETA)) return 'compaction_beta_missing';
  if (all.length > 1) return 'compaction_several_blocks';
  const [first] = messages;
  if (first?.role !== 'assistant' || (first.content as Json[])[0] !== block || (first.content as Json[]).length !== 1)
    return 'compaction_not_first';
  const summary = summaries.get(String(block.signature));
  if (summary === undefined || JSON.stringify(block) !== summary.raw) return 'compaction_signature_invalid';
  return summary.model === body.model ? summary : 'compaction_other_model';
}

/** Why the provider refuses to summarise; `''` if it does. */
export function unfitToSummarise({ body, headers }: Exchange, messages: readonly Json[]): string {
  const { type, instructions = '' } = body.compaction as Json;
  if (!String(headers['anthropic-beta'] ?? '').includes(BETA)) return 'compaction_beta_missing';
  if (type !== 'summarize' || String(instructions).length > MAX_INSTRUCTIONS) return 'compaction_invalid';
  const forbidden = FORBIDDEN.find((name) => name in body);
  if (forbidden !== undefined) return `compaction_with_${forbidden}`;
  if ('format' in ((body.output_config ?? {}) as Json)) return 'compaction_with_format';
  const last = messages.at(-1)?.content;
  const isOpen = Array.isArray(last) && (last as Json[]).some((block) => block.type === 'tool_use');
  return isOpen ? 'compaction_open_tool_use' : '';
}

/** The answer to a compaction request: one signed block, and nothing at the top level of the usage. */
export function summaryAnswer({ body, agent, summaries }: Exchange, items: readonly Json[]): Reply {
  const content = `What was done so far by ${agent.id}: ${items.length} messages, “as they were”.`;
  const block = { type: 'compaction', content, signature: digest(agent.id, content, JSON.stringify(items)) };
  summaries.set(block.signature, { items, raw: JSON.stringify(block), model: String(body.model) });
  const read = agent.tokensOf((body.messages as Json[]).length, false);
  const iteration = {
    type: 'compaction',
    input_tokens: 12,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: 0,
    output_tokens: 900,
  };
  const none = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 0 };
  const usage = { ...none, iterations: [iteration] };
  const { model } = body;
  const message = { id: agent.nextId('msg'), type: 'message', role: 'assistant', model, content: [block] };
  const ended = { ...message, stop_reason: 'compaction', usage };
  if (body.stream !== true) return { status: 200, json: ended };
  return named([
    { type: 'message_start', message: { ...ended, content: [], stop_reason: null, usage: none } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'compaction' }, usage },
    { type: 'message_stop' },
  ]);
}

export function refusedSummary(code: string): Reply {
  const error = { type: 'invalid_request_error', message: code, details: { error_code: code } };
  return { status: REFUSED, json: { type: 'error', error } };
}

/** Items with the summaries of OpenAI in them: a block stands for everything up to it. */
export function expanded(
  { body, agent, summaries }: Pick<Exchange, 'body' | 'agent' | 'summaries'>,
  items: readonly Json[],
) {
  const at = items.findLastIndex((item) => isBlock(item) && summaries.has(String(item.encrypted_content)));
  const block = items[at];
  const summary = summaries.get(String(block?.encrypted_content));
  if (summary === undefined) return { items, hasSummary: false };
  if (JSON.stringify(block) !== summary.raw || summary.model !== body.model)
    agent.note('refused', { item: at, was: summary.raw, is: JSON.stringify(block) });
  return { items: [...summary.items, ...items.slice(at + 1)], hasSummary: true };
}

/** The block that OpenAI makes of items. */
export function blockOf(
  { body, agent, summaries }: Pick<Exchange, 'body' | 'agent' | 'summaries'>,
  items: readonly Json[],
): Json {
  const encrypted_content = digest(agent.id, JSON.stringify(items));
  const block = { type: 'compaction', id: agent.nextId('cmp'), encrypted_content };
  summaries.set(encrypted_content, { items, raw: JSON.stringify(block), model: String(body.model) });
  return block;
}
