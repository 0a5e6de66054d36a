import type { WebSocket } from 'ws';
import { type Exchange, named, type Reply, textOf } from './answering.ts';
import { chainOf, plain } from './chain.ts';
import { blockOf, expanded, sinceSummary } from './summaries.ts';
import type { Json } from './types.ts';

/** OpenAI's check: reasoning behind a changed item is dropped, and the answer reports it. */
export function answerResponses(exchange: Exchange): Reply {
  const response = respond(exchange, null);
  if (response === null) {
    return { status: 400, json: { error: { code: 'previous_response_not_found', message: 'not found' } } };
  }
  return exchange.body.stream === true ? named(eventsOf(response)) : { status: 200, json: response };
}

/** The same over a WebSocket: the events of the answer, one a frame. */
export function answerFrame(exchange: Exchange, socket: WebSocket): readonly Json[] {
  const response = respond(exchange, socket);
  return response === null
    ? [{ type: 'error', status: 400, error: { code: 'previous_response_not_found' } }]
    : eventsOf(response);
}

/** The user's messages stay, and one item stands for everything else. */
export function compactResponses(exchange: Exchange): Reply {
  const { agent, body } = exchange;
  const { items } = expanded(exchange, body.input as Json[]);
  const users = items.filter(({ type = 'message', role }) => type === 'message' && role === 'user');
  const output = [...users, blockOf(exchange, items)];
  const usage = { input_tokens: 100, input_tokens_details: { cached_tokens: 90 }, output_tokens: 50 };
  return { status: 200, json: { id: agent.nextId('resp'), object: 'response.compaction', output, usage } };
}

/** A response; `null` if the provider does not have what the request continues. */
function respond(exchange: Exchange, socket: WebSocket | null): Json | null {
  const { body, agent, stored } = exchange;
  const previous = body.previous_response_id;
  const before = typeof previous === 'string' ? stored.get(previous) : undefined;
  const isKept = before !== undefined && (before.socket === null || before.socket === socket);
  if (typeof previous === 'string' && (!isKept || agent.script.forgets)) return null;
  const input = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : (body.input as Json[]);
  const asked = input.at(-1)?.type === 'compaction_trigger';
  const sent = [...(before?.items ?? []), ...(asked ? input.slice(0, -1) : input)];
  const { items, hasSummary } = expanded(exchange, sent);
  const head = [body.instructions ?? null, body.tools ?? null];
  const chain = chainOf(head, items, itemText);
  const removed = items.flatMap((item, i) =>
    agent.checks && item.type === 'reasoning' && !isKnown(item, chain[i], hasSummary)
      ? [{ type: 'reasoning', id: item.id, action: 'removed', reason: 'prefix_mismatch' }]
      : [],
  );
  const known = new Set(items.map(({ encrypted_content: content }) => content));
  for (const [i, item] of items.entries()) {
    const before = chain[i] ?? '';
    const isAnswer = item.role === 'assistant' || item.type === 'function_call';
    if (isAnswer && !known.has(before)) agent.noteMissing(body.model, before, i);
  }
  if (hasSummary) agent.swapped++;
  const isCompared = ({ type }: Json): boolean => type !== 'reasoning' || !agent.hasSummaries;
  const texts = items.filter(isCompared).map((item) => itemText(item) ?? '');
  if (body.generate !== false) agent.compare(head, texts, removed.length > 0 ? 'dropped' : null);
  for (const { type, call_id, output } of sent) {
    const text = isResult(type) ? textOf(output) : null;
    if (text !== null) agent.results.set(String(call_id), text);
  }
  agent.reasoning += sent.filter(({ type }) => type === 'reasoning').length;
  const { says, calls } = body.generate === false || asked ? SILENCE : agent.says({ ...body, input: items });
  const behind = chain.at(-1) ?? '';
  if (agent.checks && !hasSummary && body.reasoning && body.generate !== false && !asked)
    agent.thought.set(behind, String(body.model));
  const output: Json[] = [
    ...(asked ? [blockOf(exchange, items)] : []),
    ...(!body.reasoning || body.generate === false || asked
      ? []
      : [
          {
            type: 'reasoning',
            id: agent.nextId('rs'),
            summary: [],
            encrypted_content: !agent.checks ? OTHER : hasSummary ? sinceSummary(behind) : behind,
          },
        ]),
    ...(says === '' ? [] : [wordsOf(says, agent.nextId('out'))]),
    ...calls.map(({ args, ...named }) => {
      const call = { type: 'function_call', id: agent.nextId('fc'), call_id: agent.nextId('call'), ...named };
      return { ...call, arguments: JSON.stringify(args), status: 'completed' };
    }),
  ];
  if (!asked) agent.answer = output;
  agent.answerId = agent.nextId('resp');
  if (body.store !== false || socket) stored.set(agent.answerId, { items: [...sent, ...output], head, socket });
  const read = agent.tokensOf(sent.length, true);
  const tokens = { input_tokens: 10 + read, input_tokens_details: { cached_tokens: read } };
  const usage = { ...tokens, output_tokens: 5, total_tokens: 15 + read };
  const { model } = body;
  const response = {
    id: agent.answerId,
    object: 'response',
    created_at: CREATED_S,
    status: 'completed',
    model,
    output,
    usage,
  };
  return { ...response, ...(removed.length > 0 && { input_transformations: removed }) };
}

/** The answer to `generate: false`, by which a client only sends the beginning of its history. */
const SILENCE = { says: '', calls: [] };
const CREATED_S = 1_700_000_000;

/** The reasoning of a model that does not check. One that checks does not read it, which is no break. */
const OTHER = 'of another model';

function isKnown({ encrypted_content: content }: Json, before: string | undefined, hasSummary: boolean): boolean {
  return content === before || content === OTHER || (hasSummary && content === sinceSummary(before ?? ''));
}

function isResult(type: unknown): boolean {
  return type === 'function_call_output' || type === 'custom_tool_call_output';
}

/** What an item means, in whichever spelling a client sends it back; `null`: the model's reasoning. */
function itemText(item: unknown): string | null {
  const { type = 'message', role, content, call_id, name, arguments: args, output } = item as Json;
  if (type === 'reasoning') return null;
  if (type === 'function_call') return JSON.stringify([type, call_id, name, args]);
  if (isResult(type)) return JSON.stringify([type, call_id, output]);
  if (type !== 'message') return JSON.stringify(plain(item));
  const parts = Array.isArray(content)
    ? (content as Json[]).map(({ text, ...rest }) => text ?? plain(rest))
    : [content];
  return JSON.stringify([type, role, parts]);
}

function wordsOf(text: string, id: string): Json {
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { type: 'message', id, role: 'assistant', status: 'completed', content };
}

function eventsOf(response: Json): Json[] {
  const items = (response.output as Json[]).flatMap((item, output_index) => {
    const [{ text }] = (item.content ?? [{}]) as [Json];
    const at = { output_index, item_id: item.id, content_index: 0 };
    return [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, ...(text !== undefined && { content: [] }) },
      },
      ...(text === undefined ? [] : [{ type: 'response.output_text.delta', ...at, delta: text }]),
      { type: 'response.output_item.done', output_index, item },
    ];
  });
  const created = { type: 'response.created', response: { ...response, output: [] } };
  return [created, ...items, { type: 'response.completed', response }];
}

/** Nothing checks on this wire; changed messages are only noted. */
export function answerChat({ body, agent }: Exchange): Reply {
  const messages = body.messages as Json[];
  agent.compare([body.tools ?? null], messages.map(chatText), null);
  for (const { role, tool_call_id, content } of messages) {
    const text = role === 'tool' ? textOf(content) : null;
    if (text !== null) agent.results.set(String(tool_call_id), text);
  }
  const { says, calls: scripted } = agent.says(body);
  const calls = scripted.map(({ name, args }) => {
    const made = { name, arguments: JSON.stringify(args) };
    return { id: agent.nextId('call'), type: 'function', function: made };
  });
  const message = { role: 'assistant', content: says, ...(calls.length > 0 && { tool_calls: calls }) };
  agent.answer = [message];
  agent.answerId = agent.nextId('chatcmpl');
  const [id, model] = [agent.answerId, body.model];
  const usage = { prompt_tokens: 10, completion_tokens: 5 };
  if (body.stream !== true) {
    return { status: 200, json: { id, model, choices: [{ index: 0, message, finish_reason: 'stop' }], usage } };
  }
  const first = [{ index: 0, delta: message }];
  const last = [{ index: 0, delta: {}, finish_reason: 'stop' }];
  return {
    events: [{ data: { id, model, choices: first } }, { data: { id, model, choices: last } }, { data: '[DONE]' }],
  };
}

/** A message in one spelling: a single text is a string. */
function chatText(message: unknown): string {
  const { content, ...rest } = message as Json;
  return JSON.stringify(plain({ ...rest, content: textOf(content) ?? content }));
}
