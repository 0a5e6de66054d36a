import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { RefusedConversations } from '../../src/core/request/provider-verdicts.ts';
import { ByteBudget } from '../../src/proxy/byte-budget.ts';
import { BodyDecoder } from '../../src/proxy/decode-body.ts';
import { HistoryRefusals } from '../../src/proxy/history-refusals.ts';
import { LoopGuard } from '../../src/proxy/upstream/headers.ts';
import { Upstream } from '../../src/proxy/upstream/upstream.ts';
import { WireHandler, type WireOptions } from '../../src/proxy/wire-handler.ts';
import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { openai } from '../../src/wires/providers/all.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { completion, startUpstream } from '../helpers/fake-upstream.ts';
import { openPipeline, openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';
import { send } from '../helpers/wire.ts';

const BODY = chatBody(oneResult(serverLog(200)));

function boom(): never {
  throw new Error('boom');
}

function withResolvers() {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** A server of the handler alone, some of whose parts fail. */
async function startHandler(over: Partial<WireOptions>) {
  const upstream = await startUpstream(completion('Fine.'));
  const store = openStore();
  const hop = new Upstream({
    url: upstream.url,
    headersTimeoutMs: 5_000,
    bodyTimeoutMs: 5_000,
    route: { proxy: null, shown: 'direct' },
    hops: new LoopGuard('id'),
  });
  afterwards(() => hop.close());
  const operation = { dialect: openaiChat, purpose: 'generate' } as const;
  const to = { provider: openai, operation, upstream: hop, path: '/v1/v1/chat/completions' };
  const rejections: unknown[] = [];
  const closed = withResolvers();
  const budgets = { largeBodies: new ByteBudget(0), received: new ByteBudget(1e8) };
  const handler = new WireHandler({
    dialect: openaiChat,
    cloud: 'openai',
    rewriter: openPipeline({ store }),
    refused: new RefusedConversations(store),
    modeOf: () => ({ enabled: true, shadow: false }),
    isForeign: () => false,
    maxBodyBytes: 1e8,
    budget: new ByteBudget(1e8),
    lateBudget: new ByteBudget(0),
    ...budgets,
    decoder: new BodyDecoder(budgets),
    timeoutMs: 5_000,
    newRequestId: () => 'id',
    onReport: () => {},
    onFailure: () => {},
    ...over,
  });
  const server: Server = createServer((req, res) => {
    res.once('close', () => closed.resolve());
    handler.handle(req, res, to).catch((cause: unknown) => rejections.push(cause));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterwards(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`;
  return { url, upstream, rejections, closed: closed.promise };
}

describe('a request that finds the byte budget exhausted', () => {
  it('repeats texts as they were sent before, and forwards new texts whole', async () => {
    const budget = new ByteBudget(1);
    const reports: (readonly string[])[] = [];
    const { url, upstream } = await startHandler({
      budget,
      timeoutMs: 100,
      onReport: async (report) => {
        reports.push((await report()).fallbacks);
      },
    });
    const post = (body: Buffer) => send(url, { method: 'POST', body });
    await post(BODY);
    const sent = upstream.last.body;
    expect(sent.length).toBeLessThan(BODY.length / 2);
    const occupied = await budget.take(1, 100);
    const fresh = chatBody(oneResult(serverLog(201)));
    await post(fresh);
    expect(upstream.last.body.equals(fresh)).toBe(true);
    await post(BODY);
    expect(upstream.last.body.equals(sent)).toBe(true);
    await expect.poll(() => reports.slice(1)).toEqual([['overloaded'], ['overloaded']]);
    occupied?.();
  });
});

describe('a request that waits for room in memory', () => {
  it('gives its room back if its client has disconnected meanwhile', async () => {
    const received = new ByteBudget(BODY.length);
    const leave = received.tryTake(BODY.length);
    const waits = withResolvers();
    const take: ByteBudget['take'] = (...body) => {
      waits.resolve();
      return received.take(...body);
    };
    const ends: string[] = [];
    const onReport: WireOptions['onReport'] = async (report) => {
      ends.push((await report()).end);
    };
    const { url, closed } = await startHandler({ received: { take }, onReport });
    const sent = request(url, { method: 'POST', headers: { 'content-length': BODY.length } }).on('error', () => {});
    sent.end(BODY);
    await waits.promise;
    sent.destroy();
    await closed;
    leave?.();
    await expect.poll(() => ends).toEqual(['client_gone']);
    expect(received.tryTake(BODY.length)).not.toBeNull();
  });
});

describe('a request that finds no room in memory', () => {
  const full = { take: async () => null };
  const large: Partial<WireOptions> = { maxBodyBytes: 10, largeBodies: full };

  it.each([
    ['messages', { dialect: anthropicMessages, received: full }, 'overloaded_error'],
    ['responses', { dialect: openaiResponses, received: full }, 'mcp_pruner_error'],
    ['messages, with a large body', { dialect: anthropicMessages, ...large }, 'overloaded_error'],
  ])('is to be sent again if the provider may verify its history: %s', async (_name, over, type) => {
    const reports: unknown[] = [];
    const onReport: WireOptions['onReport'] = async (report) => {
      const { status, fallbacks } = await report();
      reports.push([status, fallbacks]);
    };
    let nowMs = performance.now();
    const refusals = new HistoryRefusals(() => nowMs);
    const { url, upstream } = await startHandler({ ...over, refusals, onReport });
    const { status, headers, body } = await send(url, { method: 'POST', body: BODY });
    expect([status, headers['retry-after'], upstream.requests.length]).toEqual([503, '5', 0]);
    const { error } = JSON.parse(body.toString('utf8'));
    expect(error).toMatchObject({ type, message: expect.stringContaining('Send the request again in a few seconds') });
    await expect.poll(() => reports).toEqual([[503, ['asked_to_retry']]]);
    nowMs += 46_000;
    expect((await send(url, { method: 'POST', body: BODY })).status).toBe(200);
    expect(upstream.last.body.equals(BODY)).toBe(true);
  });

  it('passes unread once it was searched for an answer of a model in vain', async () => {
    const headers = { 'content-encoding': 'gzip' };
    for (const [mayBeAnswered, expected] of [
      [true, 503],
      [false, 200],
    ] as const) {
      const decode = async () => ({ kind: 'unread', reason: 'overloaded', mayBeAnswered }) as const;
      const decoder = { decode, keep: () => {} };
      const over = { dialect: anthropicMessages, decoder, refusals: new HistoryRefusals() };
      const { url, upstream } = await startHandler(over);
      expect((await send(url, { method: 'POST', headers, body: BODY })).status).toBe(expected);
      expect(upstream.requests.map(({ body }) => body.equals(BODY))).toEqual(expected === 200 ? [true] : []);
    }
  });

  it('passes unread if nothing verifies it, or if nothing in it could have been cut', async () => {
    const small = Buffer.from('{"model":"m","messages":[]}');
    for (const [over, sent] of [
      [{ received: full }, BODY],
      [large, BODY],
      [{ dialect: anthropicMessages, received: full }, small],
    ] as const) {
      const { url, upstream } = await startHandler({ refusals: new HistoryRefusals(), ...over });
      expect((await send(url, { method: 'POST', body: sent })).status).toBe(200);
      expect(upstream.last.body.equals(sent)).toBe(true);
    }
  });
});

describe('an internal fault', () => {
  it.each<[string, Partial<WireOptions>, boolean]>([
    ['in the report', { onReport: boom }, true],
    ['in pruning', { rewriter: { rewrite: boom, rewriteDry: boom } as never }, false],
    ['in pruning, later', { rewriter: { rewrite: async () => boom(), rewriteDry: boom } as never }, false],
    [
      'in pruning, which never ends',
      { rewriter: { rewrite: () => new Promise(() => {}) } as never, timeoutMs: 50 },
      false,
    ],
  ])('%s does not affect the answer to the client', async (_name, over, pruned) => {
    const { url, upstream, rejections } = await startHandler(over);
    for (let i = 0; i < 2; i++) {
      const answer = await send(url, { method: 'POST', body: BODY });
      expect(answer.status).toBe(200);
      expect(answer.body.toString('utf8')).toContain('Fine.');
      expect(upstream.last.body.equals(BODY)).toBe(!pruned);
    }
    expect(rejections).toEqual([]);
  });

  it('is reported with the request id and a reason', async () => {
    const faults: unknown[] = [];
    const { url } = await startHandler({
      rewriter: { rewrite: boom, rewriteFromMemory: boom } as never,
      onFailure: (reason, _cause, about) => faults.push([about?.requestId, reason]),
    });
    await send(url, { method: 'POST', body: BODY });
    expect(faults).toEqual([
      ['id', 'internal_error'],
      ['id', 'not_repeated'],
    ]);
  });
});
