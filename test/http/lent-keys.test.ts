import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SecretMask } from '../../src/proxy/doors/lent-keys.ts';
import { chatBody } from '../helpers/chat.ts';
import { startSocketUpstream } from '../helpers/fake-socket-upstream.ts';
import { type SeenRequest, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { openSocket } from '../helpers/socket-client.ts';
import { dial, received, send } from '../helpers/wire.ts';

const KEY = 'sk-proj-the-operators-own-key-7Q2f';
const STARS = '*'.repeat(KEY.length);
const env = { MCP_PRUNER_UPSTREAM_API_KEY: KEY };
const BODY = chatBody([{ role: 'user', content: 'hello' }]);
const headers = { 'content-type': 'application/json', 'accept-encoding': 'gzip, br' };

/** The header with which the proxy lent its key. */
const keyOf = ({ headers: { authorization = '' } }: SeenRequest): string => authorization;

describe('a key that the proxy adds to a request', () => {
  it.each([
    ['a request to a model', 'POST', '/v1/chat/completions'],
    ['a request that is forwarded unread', 'GET', '/v1/models'],
    ['a path that nobody knows', 'POST', '/v1/unknown'],
  ])('is hidden in status line, headers, body and trailers of the answer to %s', async (_, method, path) => {
    const upstream = await startUpstream((request, res) => {
      res.writeHead(401, `no ${keyOf(request)}`, { 'x-seen': keyOf(request), trailer: 'x-last' });
      res.write(`Incorrect API key provided: ${keyOf(request)}, ${keyOf(request)}.`);
      res.addTrailers({ 'x-last': keyOf(request) });
      res.end();
    });
    const proxy = await startProxy(upstream, { env });
    const answer = await send(`${proxy.url}${path}`, { method, headers, ...(method === 'POST' && { body: BODY }) });
    expect(keyOf(upstream.last)).toBe(`Bearer ${KEY}`);
    expect(upstream.last.headers['accept-encoding']).toBe('identity');
    expect(answer.status).toBe(401);
    expect(answer.statusMessage).toBe(`no Bearer ${STARS}`);
    expect(answer.headers['x-seen']).toBe(`Bearer ${STARS}`);
    expect(answer.trailers).toEqual({ 'x-last': `Bearer ${STARS}` });
    expect(answer.body.toString()).toBe(`Incorrect API key provided: Bearer ${STARS}, Bearer ${STARS}.`);
    expect(await proxy.logText()).not.toContain(KEY);
  });

  it('is masked without changing the declared length of an answer', async () => {
    const upstream = await startUpstream((request, res) => {
      const body = JSON.stringify({ error: { message: keyOf(request) } });
      res.writeHead(400, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
    });
    const proxy = await startProxy(upstream, { env });
    const answer = await send(`${proxy.url}/v1/chat/completions`, { method: 'POST', headers, body: BODY });
    expect(JSON.parse(answer.body.toString())).toEqual({ error: { message: `Bearer ${STARS}` } });
    expect(answer.headers['content-length']).toBe(String(answer.body.length));
  });

  it.each([
    ['a request to a model', '/v1/chat/completions'],
    ['a path that nobody knows', '/v1/unknown'],
  ])('is hidden in an error that is compressed all the same, as the answer to %s', async (_, path) => {
    const upstream = await startUpstream((request, res, index) => {
      const body = gzipSync(index === 0 ? `you sent ${keyOf(request)}` : 'nothing of yours');
      res.writeHead(403, { 'content-encoding': 'gzip', 'content-length': body.length }).end(body);
    });
    const proxy = await startProxy(upstream, { env });
    const ask = () => send(`${proxy.url}${path}`, { method: 'POST', headers, body: BODY });
    const echoed = await ask();
    expect([echoed.status, echoed.headers['content-encoding']]).toEqual([403, undefined]);
    expect(echoed.body.toString()).toBe(`you sent Bearer ${STARS}`);
    const other = await ask();
    expect([other.status, other.headers['content-encoding']]).toEqual([403, 'gzip']);
    expect(other.body.equals(gzipSync('nothing of yours'))).toBe(true);
    const head = await send(`${proxy.url}${path}`, { method: 'HEAD', headers });
    expect([head.status, head.headers['content-encoding']]).toEqual([403, 'gzip']);
  });

  it('is hidden even if a stream splits it, and the stream is not delayed', async () => {
    const pieces = ['data: one\n\n', 'data: s', `${KEY.slice(0, 20)}`, KEY.slice(20), '\n\n', 'data: [DONE]\n\n'];
    const arrived: (() => void)[] = [];
    const upstream = await startUpstream(async (_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [i, piece] of pieces.entries()) {
        const read = new Promise<void>((resolve) => arrived.push(resolve));
        res.write(piece);
        if (i !== 2) await read; // each piece that holds no key is read before the next one is sent
      }
      res.end();
    });
    const proxy = await startProxy(upstream, { env });
    const body = chatBody([{ role: 'user', content: 'hello' }], { stream: true });
    const answer = await fetch(`${proxy.url}/v1/chat/completions`, { method: 'POST', headers, body });
    let text = '';
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      for (const read of arrived.splice(0)) read();
    }
    expect(text).toBe(`data: one\n\ndata: s${STARS}\n\ndata: [DONE]\n\n`);
  });

  it('is hidden in the messages, the handshake and the close reason of a WebSocket', async () => {
    const upstream = await startSocketUpstream();
    upstream.onMessage = (socket) => {
      const key = String(upstream.last.request.headers.authorization);
      socket.send(JSON.stringify({ type: 'error', message: key }));
      socket.close(4000, key);
    };
    const proxy = await startProxy(upstream.url, { env });
    const client = await openSocket(proxy.url, { headers: {} });
    client.socket.send('{}');
    const [message] = await client.received(1);
    expect(upstream.last.request.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(String(message)).toBe(JSON.stringify({ type: 'error', message: `Bearer ${STARS}` }));
    expect(await client.closed).toEqual([4000, `Bearer ${STARS}`]);
  });

  it('leaves an answer unchanged if the client sent a key of its own', async () => {
    const upstream = await startUpstream((request, res) => void res.writeHead(401).end(keyOf(request)));
    const proxy = await startProxy(upstream, { env });
    const answer = await proxy.chat(BODY, { authorization: 'Bearer sk-of-the-client' });
    expect(await answer.text()).toBe('Bearer sk-of-the-client');
  });

  it('is hidden however an answer is split, except for fewer than eight of its characters', () => {
    const part = fc.oneof(fc.constant(KEY), fc.constant(KEY.slice(0, 12)), fc.constantFrom('s', 'sk-', 'x', '\n'));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.array(fc.nat(60), { maxLength: 12 }), (parts, cuts) => {
        const text = parts.join('');
        const mask = new SecretMask(KEY).stream();
        const out: Buffer[] = [];
        let at = 0;
        for (const length of [...cuts, text.length]) {
          out.push(Buffer.from(mask(Buffer.from(text.slice(at, at + length)))));
          at += length;
        }
        const sent = Buffer.concat([...out, mask(null)]).toString();
        expect(sent).toHaveLength(text.length);
        expect(sent).not.toContain(KEY.slice(0, 12) + KEY.slice(12, 20));
        const whole = text.replaceAll(KEY, STARS);
        for (let i = 0; i < text.length; i++) {
          if (sent[i] !== whole[i]) expect(whole.slice(i)).toMatch(/^\*/);
        }
      }),
    );
  });
});

it('does not forward TRACE, whose answer repeats the request', async () => {
  const upstream = await startUpstream();
  const proxy = await startProxy(upstream, { env });
  for (const path of ['/v1/chat/completions', '/v1/models', '/elsewhere']) {
    const socket = await dial(proxy.port);
    socket.write(`TRACE ${path} HTTP/1.1\r\nhost: 127.0.0.1:${proxy.port}\r\nconnection: close\r\n\r\n`);
    const answer = await received(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
    expect(answer).not.toContain(KEY);
  }
  expect(upstream.requests).toEqual([]);
});
