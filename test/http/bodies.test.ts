import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { RequestPipeline } from '../../src/core/request/pipeline.ts';
import { chatBody, contentAt, type Message, oneResult, toolTurn } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { markersIn, rebuild } from '../helpers/markers.ts';
import { messagesBody, oneCall } from '../helpers/messages.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';
import { send } from '../helpers/wire.ts';

const LOG = serverLog(300);
const BODY = chatBody(oneResult(LOG));

/** A long result on each wire; behind it stands a member of which the proxy reads nothing. */
const WIRES: Readonly<Record<string, object>> = {
  '/v1/chat/completions': JSON.parse(BODY.toString()),
  '/v1/messages': JSON.parse(messagesBody(oneCall(LOG)).toString()),
  '/v1/responses': { model: 'gpt-test', input: [{ type: 'function_call_output', call_id: 'c', output: LOG }] },
  '/v1beta/models/g:generateContent': {
    contents: [{ role: 'user', parts: [{ functionResponse: { name: 'run', response: { output: LOG } } }] }],
  },
};
const NO_JSON = [
  ...['"\\x"', '"\\u12g4"', '"\\u12"', '"a\nb"', '"a\u0000b"', '"\t"', '[1,,2]', '[1,]', '{"a":1,}', '{"a" 1}'],
  ...['{a:1}', '01', '+1', '1.', '.5', '1e', 'NaN', 'nul', '"a', "'a'", '[1 2]', ''],
  ...['"\xff"', '"\xc0\x80"', '"\xed\xa0\x80"', '"\xe2\x82"'], // no UTF-8
];

it.each(Object.entries(WIRES))('a body with an invalid JSON member passes %s byte for byte', async (path, whole) => {
  const upstream = await startUpstream();
  const env = { MCP_PRUNER_GEMINI_URL: `${upstream.url}/v1beta`, MCP_PRUNER_ANTHROPIC_URL: `${upstream.url}/v1` };
  const proxy = await startProxy(upstream, { env });
  const post = async (body: Buffer): Promise<Buffer> => {
    await send(`${proxy.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    return upstream.last.body;
  };
  const text = JSON.stringify(whole);
  for (const value of NO_JSON) {
    const body = Buffer.from(`${text.slice(0, -1)},"metadata":{"b":${value}}}`, 'latin1');
    expect([value, (await post(body)).equals(body)]).toEqual([value, true]);
  }
  const health = async (): Promise<unknown> => (await fetch(`${proxy.url}/health`)).json();
  await expect.poll(health).toMatchObject({ not_understood: { body_not_understood: NO_JSON.length } });
  expect((await post(Buffer.from(`${text.slice(0, -1)},"metadata":{"b":"\\u12a4"}}`))).includes('PRUN')).toBe(true);
});

describe('a request’s body', () => {
  it('of twenty megabytes is pruned and forwarded', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    // all results stand behind one answer that made all calls: what was answered before would go as it came
    const [system, user, answer, large] = oneResult(LOG);
    const calls: unknown[] = [answer?.tool_calls].flat();
    const results: Message[] = [];
    for (let i = 0; i < 40; i++) {
      const text = i % 2 === 0 ? serverLog(300, i + 1) : sourceFile(30, i);
      const [call, result] = toolTurn(`c${i}`, 'bash', { command: `job ${i}` }, text);
      calls.push(...[call?.tool_calls].flat());
      results.push(...[result ?? []].flat(), {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${'QUJD'.repeat(120_000)}` } }],
      });
    }
    const asked: Message = { role: 'assistant', content: null, tool_calls: calls };
    const messages = [...[system, user].flatMap((one) => one ?? []), asked, ...[large ?? []].flat(), ...results];
    const body = chatBody(messages);
    expect(body.length).toBeGreaterThan(19e6);
    expect((await proxy.chat(body)).status).toBe(200);
    const sent = upstream.last.body;
    expect(sent.length).toBeLessThan(body.length - 300_000);
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ bytesIn: body.length, bytesOut: sent.length, candidates: 41 });
  });

  it.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['GZIP ', gzipSync],
    ['identity', (bytes: Buffer) => bytes],
  ])('in %s is understood, pruned, and sent on as plain JSON', async (encoding, compress) => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const answer = await send(`${proxy.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-encoding': encoding, 'content-type': 'application/json' },
      body: compress(BODY),
    });
    expect(answer.status).toBe(200);
    expect(upstream.last.headers['content-encoding']).toBeUndefined();
    expect(Number(upstream.last.headers['content-length'])).toBe(upstream.last.body.length);
    expect(await rebuild(contentAt(upstream.last.body, -1), proxy)).toBe(LOG);
  });

  it('in gzip is forwarded unchanged if there is nothing to prune', async () => {
    const upstream = await startUpstream((_request, res) => res.end('{}'));
    const proxy = await startProxy(upstream);
    const bytes = gzipSync(chatBody(oneResult('short')));
    await send(`${proxy.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-encoding': 'gzip' },
      body: bytes,
    });
    expect(upstream.last.headers['content-encoding']).toBe('gzip');
    expect(upstream.last.body.equals(bytes)).toBe(true);
  });

  it.each([
    ['an unknown encoding', 'zstd', Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]), 'encoding_not_understood'],
    ['broken gzip', 'gzip', gzipSync(BODY).subarray(0, 200), 'encoding_not_understood'],
    ['broken deflate', 'deflate', deflateRawSync(BODY).subarray(0, 200), 'encoding_not_understood'],
    ['several encodings', 'gzip, br', brotliCompressSync(gzipSync(BODY)), 'encoding_not_understood'],
    ['a bomb', 'gzip', gzipSync(Buffer.alloc(5_000_000, ' ')), 'encoding_not_understood'],
    ['malformed JSON', '', Buffer.from('{"model":"m","messages":[{"role":'), 'body_not_understood'],
    ['JSON that is no object', '', Buffer.from('[1,2,3]'), 'body_not_understood'],
    [
      'two lists of messages',
      '',
      Buffer.from(`{"messages":[],${BODY.toString('utf8').slice(1)}`),
      'body_not_understood',
    ],
    ['a byte order mark', '', Buffer.concat([Buffer.from('\ufeff'), BODY]), 'body_not_understood'],
    ['bytes that are no text', '', Buffer.from([0, 255, 254, 13, 10, 200]), 'body_not_understood'],
    ['nothing', '', Buffer.alloc(0), 'body_not_understood'],
  ])('of %s is forwarded unchanged, with the reason in the log', async (_name, encoding, bytes, reason) => {
    const upstream = await startUpstream((_request, res) => {
      res.statusCode = 400;
      res.end('{"error":{"message":"what is this?"}}');
    });
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_MAX_BODY_BYTES: '2000000' } });
    const headers = encoding === '' ? {} : { 'content-encoding': encoding };
    const answer = await send(`${proxy.url}/v1/chat/completions`, { method: 'POST', headers, body: bytes });
    expect([answer.status, answer.body.toString()]).toEqual([400, '{"error":{"message":"what is this?"}}']);
    expect(upstream.requests).toHaveLength(1);
    expect(upstream.last.body.equals(bytes)).toBe(true);
    expect(upstream.last.headers['content-encoding']).toBe(encoding === '' ? undefined : encoding);
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ fallbacks: [reason], status: 400 });
  });

  it.each([
    ['with its length', (bytes: Buffer) => ({ 'content-length': bytes.length })],
    ['in chunks', () => ({ 'transfer-encoding': 'chunked' })],
  ])('above the limit streams through unpruned %s', async (_name, headersFor) => {
    const upstream = await startUpstream((_request, res) => res.end('{}'));
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_MAX_BODY_BYTES: '100000' } });
    const bytes = chatBody(oneResult(serverLog(3_000)));
    const answer = await send(`${proxy.url}/v1/chat/completions`, {
      method: 'POST',
      headers: headersFor(bytes),
      body: bytes,
    });
    expect(answer.status).toBe(200);
    expect(upstream.last.body.equals(bytes)).toBe(true);
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ fallbacks: ['body_too_large'] });
  });

  it('above the limit gets an error, not a broken connection, if the upstream is gone', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_MAX_BODY_BYTES: '100000' } });
    await upstream.close();
    const answer = await proxy.chat(chatBody(oneResult(serverLog(4_000))));
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({ error: { code: 'upstream_unreachable' } });
  });

  it('in chunks is pruned like any other', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    await send(`${proxy.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'transfer-encoding': 'chunked' },
      body: BODY,
    });
    expect(upstream.last.headers['transfer-encoding']).toBeUndefined();
    expect(markersIn(contentAt(upstream.last.body, -1)).length).toBeGreaterThan(0);
  });
});

describe('pruning is off', () => {
  it('for a request that opts out, and the upstream receives no x-mcp-pruner fields', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    await (await proxy.chat(BODY, { 'x-mcp-pruner': ' OFF' })).text();
    expect(upstream.last.body.equals(BODY)).toBe(true);
    expect(Object.keys(upstream.last.headers).filter((name) => name.startsWith('x-mcp-pruner'))).toEqual([]);
    await (await proxy.chat(BODY, { 'x-mcp-pruner': 'on' })).text();
    expect(upstream.last.body.length).toBeLessThan(BODY.length);
  });

  it('for all requests with the kill switch on', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_ENABLED: 'false' } });
    const answer = await proxy.chat(BODY);
    expect(answer.headers.get('x-mcp-pruner-tokens-saved')).toBe('0');
    expect(upstream.last.body.equals(BODY)).toBe(true);
  });

  it('in shadow mode, which reports what it would have saved and stores nothing', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_MODE: 'shadow' } });
    const answer = await proxy.chat(BODY);
    expect(answer.headers.get('x-mcp-pruner-tokens-saved')).toBe('0');
    await answer.text();
    expect(upstream.last.body.equals(BODY)).toBe(true);
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ shadow: true, pruned: 1, bytesIn: BODY.length, bytesOut: BODY.length });
    expect(line?.tokensSaved).toBeGreaterThan(1_000);
    const [id] = (line?.pruneIds ?? []) as string[];
    expect(
      (
        await proxy.call('recover_text', {
          prune_id: id,
          ranges: [{ start_line: 1, end_line: 2 }],
          include_line_numbers: false,
        })
      ).error?.code,
    ).toBe(-32004);
  });

  it('in shadow mode, before it is known what would be saved, which is reported even if the server stops', async () => {
    const proxy = await startProxy(await startUpstream(), { env: { MCP_PRUNER_MODE: 'shadow' } });
    const { rewriteDry } = RequestPipeline.prototype;
    let look = (): void => {};
    const mayLook = new Promise<void>((resolve) => {
      look = resolve;
    });
    vi.spyOn(RequestPipeline.prototype, 'rewriteDry').mockImplementation(async function (
      this: RequestPipeline,
      request,
    ) {
      await mayLook;
      return rewriteDry.call(this, request);
    });
    await (await proxy.chat(BODY)).text();
    const stopped = proxy.stop();
    look();
    await stopped;
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ shadow: true, pruned: 1, status: 200 });
    expect(line?.fallbacks).toBeUndefined();
  });

  it('until shadow mode ends, and then makes the same decisions', async () => {
    const upstream = await startUpstream();
    const shadow = await startProxy(upstream, { env: { MCP_PRUNER_MODE: 'shadow' } });
    await (await shadow.chat(BODY)).text();
    const [line] = await shadow.requestLines(1);
    const proxy = await startProxy(upstream);
    await (await proxy.chat(BODY)).text();
    const [real] = await proxy.requestLines(1);
    expect(real?.pruneIds).toEqual(line?.pruneIds);
    expect(real?.tokensSaved).toBe(line?.tokensSaved);
  });
});

describe('the order of events', () => {
  it('guarantees that the original can be recovered once the upstream has the request', async () => {
    const recovered: string[] = [];
    const upstream = await startUpstream(async (request, res) => {
      // The fake upstream asks before it answers: whatever it was sent must be in the store already.
      recovered.push(await rebuild(contentAt(request.body, -1), proxy));
      res.end('{}');
    });
    const proxy = await startProxy(upstream);
    for (let i = 0; i < 5; i++) await (await proxy.chat(chatBody(oneResult(serverLog(300, i))))).text();
    expect(recovered).toEqual([0, 1, 2, 3, 4].map((i) => serverLog(300, i)));
  });
});
