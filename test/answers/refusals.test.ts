import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { PassOn } from '../../src/proxy/upstream/pass-on.ts';
import { Refusal } from '../../src/proxy/upstream/refusal.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { type Answer, completion, json, refusal, startUpstream } from '../helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../helpers/messages.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';

const LOG = serverLog(400);
const FIRST = oneResult(LOG);
const NEXT = [...FIRST, { role: 'assistant', content: 'Hm.' }, { role: 'user', content: 'Go on.' }];
const INVALID = 'data: {"error":{"message":"bad tool result","type":"invalid_request_error","code":400}}\n\n';
const OVERLOADED = 'data: {"error":{"message":"overloaded","type":"overloaded_error"}}\n\n';

/** Sends a body as events, and leaves the answer open. */
function opened(body: string | Buffer, headers: Record<string, string> = {}): Answer {
  return (_request, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
    res.write(body);
  };
}

/** Answers pruned requests in one way, and all others normally. */
function forPruned(answer: Answer): Answer {
  return (request, res, index) =>
    (request.body.includes('prune_id=') ? answer : completion('Fine.'))(request, res, index);
}

async function setUp(answer: Answer) {
  const upstream = await startUpstream(answer);
  return { upstream, proxy: await startProxy(upstream) };
}

describe('a pruned request that is refused inside a 200 response', () => {
  it.each<readonly [string, Answer]>([
    ['as the first event', opened(INVALID)],
    [
      'as the first event, behind comments and in two pieces',
      async (_request, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        res.write(`: wait\n\n${INVALID.slice(0, 30)}`);
        await new Promise((resolve) => setImmediate(resolve));
        res.write(INVALID.slice(30));
      },
    ],
    ['as the first event, compressed', opened(gzipSync(INVALID), { 'content-encoding': 'gzip' })],
    ['as the body', (_request, res) => json(res, 200, { error: { type: 'BadRequestError', code: 400 } })],
  ])('%s is sent once more unpruned, and the conversation stays unpruned', async (_form, answer) => {
    const { upstream, proxy } = await setUp(forPruned(answer));
    const first = chatBody(FIRST);
    const received = await proxy.chat(first);
    expect([received.status, received.headers.get('x-mcp-pruner-tokens-saved')]).toEqual([200, '0']);
    expect(await received.text()).toContain('Fine.');
    expect(upstream.requests.map(({ body }) => body.equals(first))).toEqual([false, true]);
    const next = chatBody(NEXT);
    await (await proxy.chat(next)).text();
    expect(upstream.last.body.equals(next)).toBe(true);
    const lines = await proxy.requestLines(2);
    expect(lines.map(({ fallbacks }) => fallbacks)).toEqual([['upstream_refused_200'], ['left_alone']]);
  });

  it('is also resent once on the messages wire', async () => {
    const { upstream, proxy } = await setUp((request, res) => {
      if (!request.body.includes('prune_id='))
        return json(res, 200, { type: 'message', content: [], usage: { input_tokens: 9 } });
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.end('event: error\ndata: {"error":{"type":"invalid_request_error","message":"x"}}\n\n');
    });
    const body = messagesBody(oneCall(LOG));
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${proxy.url}/v1/messages`, { method: 'POST', headers, body });
    expect(await answer.json()).toMatchObject({ type: 'message' });
    expect(upstream.requests.map((request) => request.body.equals(body))).toEqual([false, true]);
  });
});

describe('an answer of status 200 to the first pruned request', () => {
  it('reaches the client byte for byte if it begins with another error, and is not recorded as accepted', async () => {
    const { upstream, proxy } = await setUp((request, res, index) =>
      (index === 0
        ? (...args: Parameters<Answer>) => void args[1].writeHead(200).end(OVERLOADED)
        : forPruned(refusal(400, 'no')))(request, res, index),
    );
    expect(await (await proxy.chat(chatBody(FIRST))).text()).toBe(OVERLOADED);
    expect(upstream.requests).toHaveLength(1);
    expect(await (await proxy.chat(chatBody(FIRST))).text()).toContain('Fine.');
    expect(upstream.requests).toHaveLength(3);
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ status: 200, upstreamError: 'answer_overloaded' });
  });

  const accepted = { rawHistory: false, acceptedBefore: false, isKept: false };

  /** An answer of which only the head has arrived, and what the client has received of it. */
  function arriving(request = accepted) {
    const heads: number[] = [];
    const res = new ServerResponse(new IncomingMessage(new Socket()));
    const body = vi.spyOn(res, 'write').mockReturnValue(true);
    const decline = new Refusal(openaiChat, request, true);
    const onHead = (status: number): void => void heads.push(status);
    const sent = { origin: 'http://127.0.0.1', method: 'POST' as const, path: '/', headers: [], body: null };
    const answer = { ...sent, extraHeaders: [], decline, onHead, ended: () => {} };
    const passOn = new PassOn(answer, sent, res, { again: () => {}, expectsContinue: () => {} });
    passOn.head(200, ['content-type', 'text/event-stream'], 'OK');
    return { passOn, heads, received: () => body.mock.calls.map(([chunk]) => String(chunk)).join('') };
  }

  it.each([
    ['its first event is complete', ['data: {"choices', '":[]}\n\n']],
    ['16 KB have arrived', [': wait\n'.repeat(2_300), ': wait\n'.repeat(50)]],
  ])('is passed on as soon as %s, and its first byte is measured then', (_moment, [start = '', rest = '']) => {
    const { passOn, heads, received } = arriving();
    passOn.data(Buffer.from(start));
    expect([heads, received()]).toEqual([[], '']);
    passOn.data(Buffer.from(rest));
    expect([heads, received()]).toEqual([[200], start + rest]);
  });

  it('is held back for at most two seconds', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { passOn, heads, received } = arriving();
    passOn.data(Buffer.from('data: {'));
    vi.advanceTimersByTime(1_999);
    expect([heads, received()]).toEqual([[], '']);
    vi.advanceTimersByTime(1);
    expect([heads, received()]).toEqual([[200], 'data: {']);
  });

  it('is not held back once a pruned request of the conversation was accepted', () => {
    expect(arriving({ ...accepted, acceptedBefore: true }).heads).toEqual([200]);
  });
});

describe('a pruned request that the upstream rejects as too large', () => {
  it('is not resent, because the original is larger, and the conversation stays pruned', async () => {
    const { upstream, proxy } = await setUp(refusal(413, 'too_large'));
    for (const body of [chatBody(FIRST), chatBody(NEXT)]) {
      const answer = await proxy.chat(body);
      expect([answer.status, await answer.text()]).toEqual([413, expect.stringContaining('too_large')]);
    }
    expect(upstream.requests.map(({ body }) => body.includes('prune_id='))).toEqual([true, true]);
  });
});
