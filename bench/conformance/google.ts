import { type Exchange, type Reply, textOf } from './answering.ts';
import { chainOf, plain } from './chain.ts';
import type { Json } from './types.ts';

/** Nothing checks on this wire; changed contents are only noted. */
export function answerGemini({ path, body, agent }: Exchange): Reply {
  const contents = body.contents as Json[];
  const head = [body.systemInstruction ?? null, body.tools ?? null];
  agent.compare(
    head,
    contents.map((content) => JSON.stringify(plain(content))),
    null,
  );
  for (const part of contents.flatMap(({ parts }) => parts as Json[])) {
    const result = part.functionResponse as { id: string; response: { output?: unknown } } | undefined;
    if (typeof result?.response.output === 'string') agent.results.set(result.id, result.response.output);
  }
  const { says, calls } = agent.script;
  const parts: Json[] = [
    ...(says === '' ? [] : [{ text: says }]),
    ...calls.map(({ name, args }) => ({
      functionCall: { id: agent.nextId('call'), name, args },
      thoughtSignature: 'c2lnbmVk',
    })),
  ];
  const content = { role: 'model', parts };
  agent.answer = [content];
  agent.answerId = agent.nextId('gen');
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 5 };
  const json = { responseId: agent.answerId, candidates: [{ content, finishReason: 'STOP', index: 0 }], usageMetadata };
  return path.endsWith(':streamGenerateContent') ? { events: [{ data: json }] } : { status: 200, json };
}

/**
 * Nothing is documented about a check on this wire. The kit holds it to the same: a thought whose signature is not a
 * hash of everything before it is a break.
 */
export function answerInteractions({ body, agent, stored }: Exchange): Reply {
  const previous = body.previous_interaction_id;
  const before = typeof previous === 'string' ? stored.get(previous) : undefined;
  if (typeof previous === 'string' && (!before || agent.script.forgets)) {
    return { status: 404, json: { error: { code: 404, message: 'no such interaction', status: 'NOT_FOUND' } } };
  }
  const steps = [...(before?.items ?? []), ...(body.input as Json[])];
  const head = [body.system_instruction ?? null, body.tools ?? null];
  const chain = chainOf(head, steps, stepText);
  const isChanged = steps.some(({ type, signature }, i) => type === 'thought' && signature !== chain[i]);
  agent.compare(
    head,
    steps.map((step) => stepText(step) ?? ''),
    isChanged ? 'dropped' : null,
  );
  for (const { type, call_id, result } of steps) {
    const text = type === 'function_result' ? textOf(result) : null;
    if (text !== null) agent.results.set(String(call_id), text);
  }
  const { says, calls } = agent.script;
  const output: Json[] = [
    { type: 'thought', signature: chain.at(-1) ?? '', summary: [] },
    ...(says === '' ? [] : [{ type: 'model_output', content: [{ type: 'text', text: says }] }]),
    ...calls.map(({ name, args }) => ({ type: 'function_call', id: agent.nextId('call'), name, arguments: args })),
  ];
  agent.answer = output;
  agent.answerId = agent.nextId('int');
  if (body.store !== false) stored.set(agent.answerId, { items: [...steps, ...output], head, socket: null });
  const usage = { total_input_tokens: 10, total_cached_tokens: 0, total_output_tokens: 5, total_thought_tokens: 1 };
  const json = { id: agent.answerId, model: body.model, status: 'completed', steps: output, usage };
  if (body.stream !== true) return { status: 200, json };
  const events = [
    { event_type: 'interaction.created', interaction: { id: json.id, status: 'in_progress' } },
    ...output.map((step, index) => ({ event_type: 'step.start', index, step })),
    { event_type: 'interaction.completed', interaction: { id: json.id, status: 'completed', usage } },
  ];
  return { events: events.map((data) => ({ name: data.event_type, data })) };
}

/** A step in one spelling; `null`: a thought. */
function stepText(step: unknown): string | null {
  const { type, result, ...rest } = step as Json;
  if (type === 'thought') return null;
  return JSON.stringify(plain({ type, result: textOf(result) ?? result ?? null, ...rest }));
}
