import { type Exchange, named, type Reply, textOf } from './answering.ts';
import { chainOf, plain } from './chain.ts';
import type { Correspondent } from './correspondent.ts';
import { refusedSummary, type Summary, sinceSummary, summaryAnswer, summaryIn, unfitToSummarise } from './summaries.ts';
import type { Json } from './types.ts';

/**
 * Anthropic's binding: the signature of a thinking block is a hash of system, tools and messages before it, without
 * `cache_control` and thinking. A request in which it does not fit is refused, or the block is dropped and reported.
 */
export function answerMessages(exchange: Exchange): Reply {
  const { body, agent, stored } = exchange;
  const thread = (body.thread ?? null) as { type: string; previous_message_id?: string } | null;
  const head = headOf(body);
  let messages = body.messages as Json[];
  if (thread?.type === 'continue') {
    const before = agent.script.forgets ? undefined : stored.get(thread.previous_message_id ?? '');
    if (!before) return threadError(404, 'thread_not_found');
    if (JSON.stringify(plain(before.head)) !== JSON.stringify(plain(head))) {
      return threadError(REFUSED, 'thread_fingerprint_mismatch');
    }
    messages = [...before.items, ...messages];
  }
  const isCompaction = body.compaction !== undefined;
  const unfit = isCompaction ? unfitToSummarise(exchange, messages) : '';
  const summary = unfit === '' ? summaryIn(exchange, messages) : unfit;
  if (typeof summary === 'string') return noted(exchange, summary);
  const history = historyOf(head, messages, summary);
  const at = mismatchIn(history);
  if (isCompaction && at !== null) return noted(exchange, `compaction_mismatch ${at}`);
  if (isCompaction) return summaryAnswer(exchange, history.messages);
  const thinking = body.thinking as { block_binding?: { prefix_mismatch_behavior?: string } } | undefined;
  const drops = thinking?.block_binding?.prefix_mismatch_behavior === 'drop_block';
  agent.compare(head, history.messages.map(messageText), at === null ? null : drops ? 'dropped' : 'refused');
  if (summary !== null) agent.swapped++;
  noteBlocks(agent, messages);
  if (at !== null && !drops) return bindingError(at);
  const chain = chainOf(head, history.messages, messageText);
  for (const [i, { role, content }] of history.messages.entries()) {
    const isBare = role === 'assistant' && Array.isArray(content) && !(content as Json[]).some(isThinking);
    if (isBare) agent.noteMissing(body.model, chain[i] ?? '', i);
  }
  const before = chain.at(-1) ?? '';
  // the requests that continue a thread do not show which model answered what
  if (summary === null && at === null && thread === null) agent.thought.set(before, String(body.model));
  const message = answerOf({ ...body, messages }, agent, summary === null ? before : sinceSummary(before), at);
  agent.answer = [{ role: 'assistant', content: message.content }];
  agent.answerId = String(message.id);
  if (thread) stored.set(agent.answerId, { items: [...messages, ...agent.answer], head, socket: null });
  return body.stream === true ? streamed(message) : { status: 200, json: message };
}

/** Counting runs the same check, and changes nothing. */
export function countMessages(exchange: Exchange): Reply {
  const { body, agent } = exchange;
  const messages = body.messages as Json[];
  const summary = summaryIn(exchange, messages);
  if (typeof summary === 'string') return noted(exchange, summary);
  const history = historyOf(headOf(body), messages, summary);
  const at = mismatchIn(history);
  if (at === null) return { status: 200, json: { input_tokens: Math.ceil(JSON.stringify(body).length / 4) } };
  agent.compare(headOf(body), history.messages.map(messageText), 'refused');
  return bindingError(at);
}

/** A request as its provider reads it: a summary stands for the messages that it was made from. */
interface History {
  readonly head: unknown;
  readonly messages: readonly Json[];
  readonly hasSummary: boolean;
}

function historyOf(head: unknown, messages: readonly Json[], summary: Summary | null): History {
  if (summary === null) return { head, messages, hasSummary: false };
  return { head, messages: [...summary.items, ...messages.slice(1)], hasSummary: true };
}

/** A refusal of a summary, or of a request for one: a break, since the proxy alone made it. */
function noted({ agent }: Exchange, code: string): Reply {
  agent.note('refused', { item: 0, was: '', is: code });
  return refusedSummary(code);
}

const REFUSED = 400;

/** What stands before the messages. A deferred tool is shown where it was found by a search, and is no part of it. */
function headOf({ system = null, tools = null }: Json): unknown {
  return [system, tools && (tools as Json[]).filter((tool) => tool.defer_loading !== true)];
}

function answerOf(body: Json, agent: Correspondent, signature: string, dropped: string | null): Json {
  const { says, calls } = agent.says(body);
  const { model, thinking } = body;
  const thinks = thinking !== undefined && (thinking as Json).type !== 'disabled';
  const content: Json[] = [
    ...(thinks ? [{ type: 'thinking', thinking: `I look at step ${agent.requests}.`, signature }] : []),
    ...(says === '' ? [] : [{ type: 'text', text: says }]),
    ...calls.map(({ name, args }) => ({ type: 'tool_use', id: agent.nextId('toolu'), name, input: args })),
  ];
  const read = agent.tokensOf((body.messages as Json[]).length, true);
  const usage = { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: read, output_tokens: 5 };
  const report = [{ type: 'thinking_dropped', reason: 'prefix_binding_mismatch', path: dropped }];
  const stop = { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn' };
  return {
    id: agent.nextId('msg'),
    type: 'message',
    role: 'assistant',
    model,
    content,
    ...stop,
    usage,
    ...(dropped !== null && { input_transformations: report }),
  };
}

function streamed(message: Json): Reply {
  const content = message.content as Json[];
  return named([
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    ...content.flatMap((block, index) => [
      { type: 'content_block_start', index, content_block: startOf(block) },
      ...deltasOf(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: message.stop_reason }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ]);
}

function startOf(block: Json): Json {
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} };
}

function deltasOf({ type, thinking, signature, text, input }: Json): Json[] {
  if (type === 'text') return [{ type: 'text_delta', text }];
  if (type !== 'thinking') return [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }];
  return [
    { type: 'thinking_delta', thinking },
    { type: 'signature_delta', signature },
  ];
}

function isThinking({ type }: Json): boolean {
  return type === 'thinking';
}

/** A message without thinking, in one spelling. */
function messageText(message: unknown): string {
  const { role, content } = message as Json;
  const blocks = (typeof content === 'string' ? [{ type: 'text', text: content }] : content) as Json[];
  return JSON.stringify(plain({ role, content: blocks.filter((block) => !isThinking(block)) }));
}

function noteBlocks(agent: Correspondent, messages: readonly Json[]): void {
  for (const block of messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Json[]) : []))) {
    if (isThinking(block)) agent.reasoning++;
    const text = block.type === 'tool_result' ? textOf(block.content) : null;
    if (text !== null) agent.results.set(String(block.tool_use_id), text);
  }
}

/** Where the first thinking block stands that was made from something else, or `null`. */
function mismatchIn({ head, messages, hasSummary }: History): string | null {
  const chain = chainOf(head, messages, messageText);
  const fits = (signature: unknown, before = ''): boolean =>
    signature === before || (hasSummary && signature === sinceSummary(before));
  for (const [i, { role, content }] of messages.entries()) {
    if (role !== 'assistant' || !Array.isArray(content)) continue;
    const at = (content as Json[]).findIndex((block) => isThinking(block) && !fits(block.signature, chain[i]));
    if (at >= 0) return `messages.${i}.content.${at}`;
  }
  return null;
}

function bindingError(at: string): Reply {
  const words =
    'Invalid `signature` in `thinking` block. The block is bound to a different conversation than the one sent.';
  const message = `${at}: ${words} Content before this block differs, first at ${at}`;
  return { status: REFUSED, json: { type: 'error', error: { type: 'invalid_request_error', message } } };
}

function threadError(status: number, code: string): Reply {
  const error = { type: 'invalid_request_error', message: code, details: { error_code: code } };
  return { status, json: { type: 'error', error } };
}
