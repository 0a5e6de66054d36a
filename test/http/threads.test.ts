import { describe, expect, it, vi } from 'vitest';
import { StoreUnavailable } from '../../src/errors/errors.ts';
import { ByteBudget } from '../../src/proxy/byte-budget.ts';
import { PruneStep } from '../../src/proxy/prune-step.ts';
import type { RequestContext } from '../../src/proxy/request-context.ts';
import { Refusal } from '../../src/proxy/upstream/refusal.ts';
import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { NO_CONTEXT } from '../helpers/context.ts';
import { openPipeline, openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

type Message = { readonly role: string; readonly content: unknown };

const [A, B, FILE] = [serverLog(200), serverLog(200, 7), serverLog(200, 11)];
const QUESTION: Message = { role: 'user', content: 'Why did the payment of the second customer fail?' };

function answer(...ids: string[]): Message {
  const calls = ids.map((id) => ({ type: 'tool_use', id, name: 'bash', input: { command: `cat ${id}.log` } }));
  return { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.', signature: 's' }, ...calls] };
}

function results(...texts: [id: string, text: string][]): Message & { readonly content: readonly unknown[] } {
  return { role: 'user', content: texts.map(([id, content]) => ({ type: 'tool_result', tool_use_id: id, content })) };
}

/** A message of the user with a file, after the given blocks. */
function attached(...before: unknown[]): Message {
  return { role: 'user', content: [...before, { type: 'text', text: `Look.\n<file path="a.log">\n${FILE}\n</file>` }] };
}

/** A request that opens a thread, continues it behind an answer, or knows no threads. */
function bodyOf(messages: readonly Message[], previous?: string | null): Buffer {
  const continues = { type: 'continue', previous_message_id: previous };
  const thread = previous === null ? undefined : previous === undefined ? { type: 'create' } : continues;
  return Buffer.from(JSON.stringify({ model: 'claude-opus-5', thread, messages }));
}

function textsOf(body: Buffer): string[] {
  const { messages } = JSON.parse(body.toString('utf8')) as { messages: Message[] };
  return messages.flatMap(({ content }) =>
    Array.isArray(content)
      ? (content as { content?: string; text?: string }[]).flatMap((block) => block.content ?? block.text ?? [])
      : [],
  );
}

function openSession() {
  const store = openStore();
  const mode = { enabled: true, shadow: false };
  const stepOver = (pipeline = openPipeline({ store })) =>
    new PruneStep({
      rewriter: pipeline,
      modeOf: () => mode,
      maxBodyBytes: 1e8,
      budget: new ByteBudget(1e8),
      lateBudget: new ByteBudget(0),
      timeoutMs: 5_000,
      onFailure: () => {},
    });
  const send = async (step: PruneStep, body: Buffer, context: RequestContext = NO_CONTEXT) => {
    const { changed } = await step.prune(context, { body, dialect: anthropicMessages });
    return textsOf(changed ?? body);
  };
  return { mode, store, pipeline: openPipeline({ store }), stepOver, send };
}

describe('a message thread', () => {
  it('has the same bytes in a replay of its whole history as in the requests that continued it', async () => {
    const { mode, stepOver, send } = openSession();
    const step = stepOver();
    await send(step, bodyOf([QUESTION]));
    const sent = await send(step, bodyOf([results(['toolu_1', A], ['toolu_2', B])], 'msg_1'));
    expect(sent[0]?.length).toBeLessThan(A.length / 2);
    const history = [QUESTION, answer('toolu_1', 'toolu_2'), results(['toolu_1', A], ['toolu_2', B])];
    for (const enabled of [true, false]) {
      mode.enabled = enabled;
      // with a new thread, without any, and from a proxy that has to look everything up
      expect(await send(step, bodyOf(history))).toEqual(sent);
      expect(await send(step, bodyOf([...history, answer('toolu_3')], null))).toEqual(sent);
      expect(await send(stepOver(), bodyOf([...history, answer('toolu_3')]))).toEqual(sent);
    }
  });

  it('keeps a result whole that was sent while pruning was off', async () => {
    const { mode, stepOver, send } = openSession();
    const step = stepOver();
    mode.enabled = false;
    expect(await send(step, bodyOf([results(['toolu_1', A])], 'msg_1'))).toEqual([A]);
    mode.enabled = true;
    const history = [QUESTION, answer('toolu_1'), results(['toolu_1', A])];
    expect(await send(step, bodyOf(history))).toEqual([A]);
  });

  it('is found only for the same project and account', async () => {
    const { stepOver, send } = openSession();
    const step = stepOver();
    await send(step, bodyOf([results(['toolu_1', A])], 'msg_1'));
    const history = [QUESTION, answer('toolu_1'), results(['toolu_1', A]), answer('toolu_2')];
    for (const other of [{ account: 'another' }, { scope: { ...NO_CONTEXT.scope, project: 'another' } }]) {
      expect(await send(stepOver(), bodyOf(history, null), { ...NO_CONTEXT, ...other })).toEqual([A]);
    }
    const [known = ''] = await send(stepOver(), bodyOf(history, null));
    expect(known.length).toBeLessThan(A.length / 2);
  });

  it('repeats a file that the user attached in a continuing request', async () => {
    const { pipeline, stepOver, send } = openSession();
    const step = stepOver(pipeline);
    const first = await step.prune(NO_CONTEXT, { body: bodyOf([QUESTION]), dialect: anthropicMessages });
    if (first.rewritten)
      await pipeline.answered('default', first.rewritten, { id: 'msg_1', items: [], calls: new Map() });
    const [sent = ''] = await send(step, bodyOf([attached()], 'msg_1'));
    expect(sent.length).toBeLessThan(FILE.length / 2);
    expect(await send(step, bodyOf([QUESTION, answer(), attached(), answer()]))).toEqual([sent]);
  });

  it.each(['the next request', 'the end of the process'])(
    'keeps a result whole that was sent while the disk was full, once %s has recorded it',
    async (when) => {
      const { store, pipeline, stepOver, send } = openSession();
      const step = stepOver(pipeline);
      const full = vi.spyOn(store, 'commit').mockRejectedValue(new StoreUnavailable('full'));
      expect(await send(step, bodyOf([results(['toolu_1', A])], 'msg_1'))).toEqual([A]);
      full.mockRestore();
      if (when === 'the next request') await send(step, bodyOf([results(['toolu_9', B])], 'msg_9'));
      else await pipeline.flush();
      // a fork that ends with the same result would otherwise be cut, and its record found by the first conversation
      const history = [QUESTION, answer('toolu_1'), results(['toolu_1', A])];
      expect(await send(stepOver(), bodyOf(history))).toEqual([A]);
      expect(await send(stepOver(), bodyOf([...history, answer('toolu_2')]))).toEqual([A]);
    },
  );

  it('repeats results and a file that continued an answer unknown to the proxy', async () => {
    const { mode, stepOver, send } = openSession();
    const turn = attached(...results(['toolu_1', A]).content);
    const sent = await send(stepOver(), bodyOf([turn], 'msg_1'));
    expect(sent.map((text) => text.length < FILE.length / 2)).toEqual([true, true]);
    mode.enabled = false;
    const history = [QUESTION, answer('toolu_1'), turn, answer('toolu_2'), results(['toolu_2', B])];
    expect(await send(stepOver(), bodyOf(history))).toEqual([...sent, B]);
  });
});

describe('a refusal that names a record stored by the provider', () => {
  it.each([
    [anthropicMessages, { error: { details: { error_code: 'thread_not_found' } } }],
    [openaiResponses, { error: { code: 'previous_response_not_found' } }],
  ])('is no refusal of what was cut ($name)', (dialect, error) => {
    const request = { rawHistory: false, acceptedBefore: false, isKept: true };
    const refusal = new Refusal(dialect, request, true);
    expect(refusal.byStatus(400)).toBe('hold');
    expect(refusal.byBody(400, Buffer.from(JSON.stringify(error)))).toBe(false);
    expect(refusal.toContinue).toBe(true);
    expect(new Refusal(dialect, request, true).byBody(400, Buffer.from('{"error":{}}'))).toBe(true);
  });
});
