import { describe, expect, it } from 'vitest';
import type { DirectivesView } from '../../src/core/ports/segments.ts';
import type { Policies } from '../../src/core/request/policy.ts';
import type { IncomingRequest } from '../../src/core/request/request.ts';
import { NO_DIRECTIVES } from '../../src/core/segments/apply-directives.ts';
import { ByteBudget } from '../../src/proxy/byte-budget.ts';
import { PruneStep, type PruneStepOptions } from '../../src/proxy/prune-step.ts';
import type { RequestContext } from '../../src/proxy/request-context.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { NO_CONTEXT } from '../helpers/context.ts';
import { openPipeline, openStore, type RewriterParts } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

interface Shape {
  readonly reasoning?: boolean;
  readonly model?: string;
  readonly previous?: string;
}

/** The items of an agent's rounds: the model thinks, runs a command, and gets its output. */
function itemsOf(logs: readonly string[], reasoning = true): object[] {
  const rounds = logs.flatMap((output, i) => [
    ...(reasoning ? [{ type: 'reasoning', id: `rs_${i}`, summary: [], encrypted_content: `thought ${i}` }] : []),
    { type: 'function_call', call_id: `c${i}`, name: 'bash', arguments: `{"command":"cat ${i}.log"}` },
    { type: 'function_call_output', call_id: `c${i}`, output },
  ]);
  return [{ role: 'user', content: 'Why did the payment of the second customer fail?' }, ...rounds];
}

function bodyOf(logs: readonly string[], { reasoning = true, model = 'gpt-6.2-sol', previous }: Shape = {}): Buffer {
  const input = itemsOf(logs, reasoning);
  const items = previous === undefined ? input : input.slice(-1);
  return Buffer.from(JSON.stringify({ model, previous_response_id: previous, input: items }));
}

/** The outputs in a body, in order. */
function outputsOf(body: Buffer): string[] {
  const { input } = JSON.parse(body.toString('utf8')) as { input: { type?: string; output: string }[] };
  return input.flatMap(({ type, output }) => (type === 'function_call_output' ? output : []));
}

const [A, B, C] = [serverLog(200), serverLog(200, 7), serverLog(200, 9)];

/** A prune step whose mode, limits and time can be changed in mid-session. */
function openSession(parts: RewriterParts = {}) {
  const pipeline = openPipeline({ store: openStore(), ...parts });
  const mode = { enabled: true, shadow: false };
  const now: { limit: number; room: boolean; late: boolean } = { limit: 1e8, room: true, late: false };
  const all = new ByteBudget(1e8);
  const options: PruneStepOptions = {
    rewriter: {
      rewrite: (request: IncomingRequest, policies?: Policies) =>
        now.late ? Promise.reject(new Error('late')) : pipeline.rewrite(request, policies),
      rewriteDry: (request: IncomingRequest) => pipeline.rewriteDry(request),
      rewriteFromMemory: (request: IncomingRequest, policies?: Policies) =>
        pipeline.rewriteFromMemory(request, policies),
    },
    modeOf: () => mode,
    get maxBodyBytes() {
      return now.limit;
    },
    budget: { take: async (bytes, ms) => (now.room ? all.take(bytes, ms) : null) },
    lateBudget: new ByteBudget(1e8),
    timeoutMs: 5_000,
    onFailure: () => {},
  };
  const step = new PruneStep(options);
  const send = async (body: Buffer, over: Over = {}): Promise<Buffer> => {
    const { context = NO_CONTEXT, ...incoming } = over;
    const pruned = await step.prune(context, { body, dialect: openaiResponses, ...incoming });
    return pruned.changed ?? body;
  };
  return { mode, now, send, step };
}

type Over = Partial<IncomingRequest> & { readonly context?: RequestContext };
type Session = ReturnType<typeof openSession>;

/** Everything that must not change what was sent before. */
const SWITCHES: readonly [string, (session: Session) => void, Over][] = [
  ['the kill switch', ({ mode }) => void Object.assign(mode, { enabled: false }), {}],
  ['the header of a request', () => {}, { context: { ...NO_CONTEXT, isOff: true } }],
  ['shadow mode', ({ mode }) => void Object.assign(mode, { shadow: true }), {}],
  ['a spent byte budget', ({ now }) => void Object.assign(now, { room: false }), {}],
  ['a body above the limit', ({ now }) => void Object.assign(now, { limit: 20_000 }), {}],
  ['a body far above the limit', ({ now }) => void Object.assign(now, { limit: 1_000 }), {}],
  ['a rewrite that fails', ({ now }) => void Object.assign(now, { late: true }), {}],
];

describe('a conversation with reasoning on the responses wire', () => {
  it.each(SWITCHES)('repeats sent texts under %s, which always applies to new ones', async (_name, turn, over) => {
    for (const model of ['gpt-6.2-sol', 'gpt-5.1']) {
      const session = openSession();
      const { send, mode, now } = session;
      const [first = ''] = outputsOf(await send(bodyOf([A], { model })));
      expect(first.length).toBeLessThan(A.length / 2);
      turn(session);
      expect(outputsOf(await send(bodyOf([A, B], { model }), over))).toEqual([first, B]);
      Object.assign(mode, { enabled: true, shadow: false });
      Object.assign(now, { limit: 1e8, room: true, late: false });
      const [again, whole, third = ''] = outputsOf(await send(bodyOf([A, B, C], { model })));
      expect([again, whole]).toEqual([first, B]);
      expect(third.length).toBeLessThan(C.length / 2);
    }
  });

  it('repeats a cut despite a pin that applies to requests of another model', async () => {
    const pins: DirectivesView = { version: '1', empty: false, stepsOf: () => [], of: () => 'pin' };
    const now: { view: DirectivesView } = { view: NO_DIRECTIVES };
    const { send } = openSession({ directives: () => now.view });
    const [first = ''] = outputsOf(await send(bodyOf([A])));
    expect(first.length).toBeLessThan(A.length / 2);
    now.view = pins;
    expect(outputsOf(await send(bodyOf([A, B])))).toEqual([first, B]);
    expect(outputsOf(await send(bodyOf([A, B], { model: 'gpt-5.1' })))).toEqual([A, B]);
    expect(outputsOf(await send(bodyOf([A, B])))).toEqual([first, B]);
  });

  it('repeats the cut of a delta when the client resends the delta under the kill switch', async () => {
    const { send, mode, step } = openSession();
    const before = await step.prune(NO_CONTEXT, {
      body: Buffer.from(JSON.stringify({ model: 'gpt-6.2', input: itemsOf([]), store: true })),
      dialect: openaiResponses,
    });
    expect(before.changed).toBeNull();
    const [delta = ''] = outputsOf(await send(bodyOf([A], { previous: 'resp_1' })));
    expect(delta.length).toBeLessThan(A.length / 2);
    mode.enabled = false;
    expect(outputsOf(await send(bodyOf([A], { previous: 'resp_1' })))).toEqual([delta]);
    expect(outputsOf(await send(bodyOf([B], { previous: 'resp_2' })))).toEqual([B]);
    mode.enabled = true;
    expect(outputsOf(await send(bodyOf([B], { previous: 'resp_2' })))).toEqual([B]);
  });

  it('is repeated for a compaction, without new cuts', async () => {
    const { send, mode } = openSession();
    const [first = ''] = outputsOf(await send(bodyOf([A])));
    for (const enabled of [true, false]) {
      mode.enabled = enabled;
      expect(outputsOf(await send(bodyOf([A, B]), { purpose: 'compact' }))).toEqual([first, B]);
    }
  });
});

describe('a conversation without reasoning on the responses wire', () => {
  it('is sent whole under the kill switch, as its user expects', async () => {
    const { send, mode } = openSession();
    const [first = ''] = outputsOf(await send(bodyOf([A], { reasoning: false })));
    expect(first.length).toBeLessThan(A.length / 2);
    mode.enabled = false;
    expect(outputsOf(await send(bodyOf([A, B], { reasoning: false })))).toEqual([A, B]);
  });

  it('is sent whole in shadow mode, with a report of what would have been cut', async () => {
    const { step, mode } = openSession();
    mode.shadow = true;
    const body = bodyOf([A], { reasoning: false });
    const pruned = await step.prune(NO_CONTEXT, { body, dialect: openaiResponses });
    expect(pruned.changed).toBeNull();
    expect(pruned.dryRun?.outcomes.map(({ pruneId }) => pruneId !== null)).toEqual([true]);
  });
});

it('a body that exceeds even the default limit is not read', async () => {
  const { step, now } = openSession();
  now.limit = 1_000;
  const body = Buffer.alloc(64 * 1024 * 1024 + 1);
  const pruned = await step.prune(NO_CONTEXT, { body, dialect: openaiResponses });
  expect(pruned).toEqual({ rewritten: null, changed: null, fallbacks: ['body_too_large'] });
});
