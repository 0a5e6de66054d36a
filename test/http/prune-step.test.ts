import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import type { IncomingRequest } from '../../src/core/request/request.ts';
import { ByteBudget } from '../../src/proxy/byte-budget.ts';
import { PruneStep, type PruneStepOptions } from '../../src/proxy/prune-step.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { NO_CONTEXT } from '../helpers/context.ts';
import { openPipeline, openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

/** A request of the responses wire, as it comes in a frame: each round is a command and its output. */
function frame(...logs: string[]): Buffer {
  const rounds = logs.flatMap((output, i) => [
    { type: 'function_call', call_id: `c${i}`, name: 'bash', arguments: '{"command":"cat app.log"}' },
    { type: 'function_call_output', call_id: `c${i}`, output },
  ]);
  const input = [{ role: 'user', content: 'Why did the payment fail?' }, ...rounds];
  return Buffer.from(JSON.stringify({ type: 'response.create', model: 'm', input }));
}

/** As `frame`, for chat completions. */
function body(log: string, more?: string): Buffer {
  const first = oneResult(log);
  if (more === undefined) return chatBody(first);
  const call = { id: 'call_2', type: 'function', function: { name: 'bash', arguments: '{"command":"cat b.log"}' } };
  return chatBody([
    ...first,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_2', content: more },
  ]);
}

/** The step over a store that stops answering what was sent once it is told to. */
function openStep(dialect: Dialect, over: Partial<PruneStepOptions> = {}) {
  const store = openStore();
  const hanging = { now: false };
  const slow = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === 'lookUp' && hanging.now) return () => new Promise(() => {});
      return typeof value === 'function' ? value.bind(target) : value;
    },
  }) as Store;
  const step = new PruneStep({
    rewriter: openPipeline({ store: slow }),
    modeOf: () => ({ enabled: true, shadow: false }),
    maxBodyBytes: 1e8,
    budget: new ByteBudget(1e8),
    lateBudget: new ByteBudget(0),
    timeoutMs: 5_000,
    onFailure: () => {},
    ...over,
  });
  const prune = (body: Buffer, more: Partial<IncomingRequest> = {}) =>
    step.prune(NO_CONTEXT, { body, dialect, ...more });
  return { prune, hanging };
}

const NO_ROOM = { take: async () => null };

/** A rewriter, and how many requests it had at once at most. */
function countingRewriter() {
  const pipeline = openPipeline({ store: openStore() });
  const most = { atOnce: 0 };
  let under = 0;
  const counted = async (request: IncomingRequest) => {
    most.atOnce = Math.max(most.atOnce, ++under);
    const rewritten = await pipeline.rewrite(request);
    under--;
    return rewritten;
  };
  return { most, rewriter: { rewrite: counted, rewriteDry: counted, rewriteFromMemory: counted } };
}

const [OLD, NEW] = [serverLog(200), serverLog(200, 7)];

describe.each([
  { name: 'a frame', dialect: openaiResponses, of: frame },
  { name: 'a body', dialect: openaiChat, of: body },
])('$name for which the byte budget is spent', ({ dialect, of }) => {
  it('repeats texts as they were sent before, and leaves new texts whole', async () => {
    const budget = new ByteBudget(1);
    const { prune } = openStep(dialect, { budget, timeoutMs: 30 });
    const first = (await prune(of(OLD))).changed;
    expect(first?.length).toBeLessThan(of(OLD).length / 2);
    const occupied = await budget.take(1, 100);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const late = prune(of(OLD, NEW));
    await vi.advanceTimersByTimeAsync(100_000); // longer than any request waits
    vi.useRealTimers();
    const { changed, fallbacks } = await late;
    expect(fallbacks).toEqual(['overloaded']);
    expect(changed?.includes(JSON.stringify(NEW))).toBe(true);
    expect(changed?.length).toBeLessThan(of(OLD, NEW).length - OLD.length / 2);
    occupied?.();
  });
});

describe('requests that find the byte budget exhausted', () => {
  it('are read one at a time', async () => {
    const { rewriter, most } = countingRewriter();
    const { prune } = openStep(openaiChat, { budget: NO_ROOM, rewriter });
    const late = await Promise.all([1, 2, 3, 4].map((seed) => prune(body(serverLog(200, seed)))));
    expect(late.map(({ fallbacks }) => fallbacks)).toEqual(Array(4).fill(['overloaded']));
    expect(most.atOnce).toBe(1);
  });

  it('are forwarded unchanged if even reading them one at a time takes too long', async () => {
    const { rewriter, most } = countingRewriter();
    const { prune } = openStep(openaiChat, { budget: NO_ROOM, lateBudget: NO_ROOM, rewriter });
    expect(await prune(body(OLD))).toEqual({ rewritten: null, changed: null, fallbacks: ['overloaded'] });
    expect(most.atOnce).toBe(0);
  });
});

describe('a request that timed out', () => {
  it('repeats texts as they were sent before, and leaves new texts whole', async () => {
    const { prune, hanging } = openStep(openaiChat, { timeoutMs: 30 });
    const first = (await prune(body(OLD))).changed;
    expect(first?.length).toBeLessThan(OLD.length / 2);
    hanging.now = true;
    const { changed, fallbacks } = await prune(body(OLD, NEW));
    expect(fallbacks).toEqual(['timeout']);
    expect(changed?.includes(JSON.stringify(NEW))).toBe(true);
    const sentOfOld = first?.subarray(0, first.lastIndexOf(']')) ?? Buffer.from('?');
    expect(changed?.subarray(0, sentOfOld.length).equals(sentOfOld)).toBe(true);
  });

  it('is forwarded unchanged if its body cannot be parsed', async () => {
    const { prune } = openStep(openaiChat);
    const { rewritten, changed, fallbacks } = await prune(Buffer.from('[1'));
    expect({ rewritten, changed }).toEqual({ rewritten: null, changed: null });
    expect(fallbacks).toHaveLength(1);
  });
});
