import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { describe, expect, it } from 'vitest';
import { afterwards } from '../helpers/afterwards.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { dial, received, send } from '../helpers/wire.ts';

const echo = () =>
  startUpstream((request, res) => {
    res.writeHead(200, { 'content-type': 'application/octet-stream', 'x-seen': `${request.method} ${request.url}` });
    res.end(request.body);
  });

describe('everything but chat completions', () => {
  it.each([
    ['GET', '/v1/models', '/v1/models'],
    ['GET', '/v1/models?limit=2&after=a%2Fb&x', '/v1/models?limit=2&after=a%2Fb&x'],
    ['DELETE', '/v1/files/file-1', '/v1/files/file-1'],
    ['POST', '/v1/embeddings', '/v1/embeddings'],
    ['POST', '/v1/responses', '/v1/responses'],
    ['POST', '/v1/messages?beta=true', '/v1/messages?beta=true'],
    ['POST', '/v1/messages/count_tokens', '/v1/messages/count_tokens'],
    ['POST', '/v1/files', '/v1/files'],
    ['PUT', '/v1/a%20b/%C3%A9//c', '/v1/a%20b/%C3%A9//c'],
    ['PATCH', '/v1/threads/1', '/v1/threads/1'],
    ['OPTIONS', '/v1/chat/completions', '/v1/chat/completions'],
    ['GET', '/v1/chat/completions?limit=1', '/v1/chat/completions?limit=1'],
    ['POST', '/v1/chat/completions/1', '/v1/chat/completions/1'],
    ['GET', '/v1', '/v1'],
  ])('%s %s reaches the upstream unchanged', async (method, path, seen) => {
    const proxy = await startProxy(await echo());
    // Not even a large result in a body of the same shape is touched outside chat completions.
    const body =
      method === 'GET' ? undefined : Buffer.concat([chatBody(oneResult(serverLog(200))), randomBytes(50_000)]);
    const headers = body ? { 'content-length': body.length } : {};
    const answer = await send(`${proxy.url}${path}`, { method, headers, ...(body && { body }) });
    expect([answer.status, answer.headers['x-seen']]).toEqual([200, `${method} ${seen}`]);
    if (body) expect(answer.body.equals(body)).toBe(true);
  });

  it.each(['POST', 'PUT', 'DELETE', 'OPTIONS'])(
    'accepts a chunked body, and none of it leaks into the next request: %s',
    async (method) => {
      const upstream = await echo();
      const proxy = await startProxy(upstream);
      const body = Buffer.from('GET /v1/smuggled HTTP/1.1\r\nHost: x\r\n\r\n');
      for (let i = 0; i < 2; i++) {
        const answer = await send(`${proxy.url}/v1/files`, {
          method,
          headers: { 'transfer-encoding': 'chunked' },
          body,
        });
        expect([answer.headers['x-seen'], answer.body.toString()]).toEqual([`${method} /v1/files`, body.toString()]);
      }
      expect(upstream.requests).toHaveLength(2);
    },
  );

  it('answers HEAD without a body', async () => {
    const proxy = await startProxy(await echo());
    const answer = await send(`${proxy.url}/v1/models`, { method: 'HEAD' });
    expect([answer.status, answer.headers['x-seen'], answer.body.length]).toEqual([200, 'HEAD /v1/models', 0]);
  });

  it('reaches an upstream with a different base path', async () => {
    const upstream = await echo();
    for (const base of [
      `http://127.0.0.1:${upstream.port}/openai/v1`,
      `http://127.0.0.1:${upstream.port}/openai/v1/`,
      `http://127.0.0.1:${upstream.port}`,
    ]) {
      const proxy = await startProxy(base);
      const prefix = base.includes('openai') ? '/openai/v1' : '';
      expect((await send(`${proxy.url}/v1/models?x=1`)).headers['x-seen']).toBe(`GET ${prefix}/models?x=1`);
      const chat = await send(`${proxy.url}/v1/chat/completions?x=1`, { method: 'POST', body: '{}' });
      expect(chat.headers['x-seen']).toBe(`POST ${prefix}/chat/completions?x=1`);
    }
  });

  it.each([
    ['/v1/messages', '/v1/messages'],
    ['/v1/messages/count_tokens', '/v1/messages/count_tokens'],
    ['/v1beta/models/m:generateContent', '/v1beta/models/m:generateContent'],
    ['/v1/v1/messages', '/v1/messages'],
  ])('keeps the version of %s for a base URL without one', async (path, seen) => {
    const upstream = await echo();
    const url = `http://127.0.0.1:${upstream.port}`;
    for (const base of [url, `${url}/`, `${url}/v1`, `${url}/v1beta/`]) {
      const proxy = await startProxy(upstream, {
        env: { MCP_PRUNER_ANTHROPIC_URL: base, MCP_PRUNER_GEMINI_URL: base },
      });
      const { headers } = await send(`${proxy.url}${path}`, { method: 'POST', body: '{}' });
      const expected =
        base.endsWith('/v1') || base.endsWith('/v1beta/')
          ? seen.replace(/^\/v1(?:beta)?/, new URL(base).pathname.replace(/\/$/, ''))
          : seen;
      expect(headers['x-seen']).toBe(`POST ${expected}`);
      await proxy.stop();
    }
  });

  it('answers CONNECT with the setting to use instead', async () => {
    const proxy = await startProxy(await echo());
    const socket = await dial(proxy.port);
    socket.write('CONNECT api.openai.com:443 HTTP/1.1\r\nHost: api.openai.com:443\r\n\r\n');
    const answer = await received(socket, (text) => text.includes('mcp-pruner run'));
    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
  });

  it.each([
    '/v1/chat/completions',
    '/v1/v1/chat/completions',
    '/v1//chat/completions',
    '/v1/openai/deployments/gpt/chat/completions?api-version=1',
    '/chat/completions',
  ])('excludes %s, which is pruned', async (path) => {
    const upstream = await echo();
    const proxy = await startProxy(upstream);
    await send(`${proxy.url}${path}`, { method: 'POST', body: chatBody(oneResult(serverLog(200))) });
    expect(upstream.last.body.includes('prune_id=')).toBe(true);
  });

  it('may be requested by an absolute URL', async () => {
    const upstream = await echo();
    const proxy = await startProxy(upstream);
    const body = chatBody(oneResult(serverLog(200)));
    for (const [path, seen] of [
      ['http://127.0.0.1:8006/v1/models?x=1', '/v1/models?x=1'],
      ['http://somewhere.example/v1/chat/completions', '/v1/chat/completions'],
    ]) {
      const socket = await dial(proxy.port);
      socket.write(`POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n\r\n`);
      socket.write(body);
      expect(await received(socket, (text) => text.includes('HTTP/1.1 200'))).toContain(`x-seen: POST ${seen}`);
    }
    expect(upstream.last.body.includes('prune_id=')).toBe(true);
  });

  it('keeps connections to the upstream open between requests', async () => {
    const upstream = await echo();
    const proxy = await startProxy(upstream);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    afterwards(() => agent.destroy());
    for (let i = 0; i < 6; i++) await send(`${proxy.url}/v1/models`, { agent });
    expect(upstream.connections).toBe(1);
  });

  it.each(['/nothing', '/v2/models', '/v1x'])('gets a 404 from the proxy if it is not below /v1: %s', async (path) => {
    const upstream = await echo();
    const proxy = await startProxy(upstream);
    const answer = await send(`${proxy.url}${path}`);
    expect(answer.status).toBe(404);
    expect(JSON.parse(answer.body.toString())).toMatchObject({ error: { code: 'not_found' } });
    expect(upstream.requests).toEqual([]);
  });
});

describe('header fields', () => {
  it.each(['/v1/chat/completions', '/v1/responses'])('pass both ways on %s, except hop-by-hop fields', async (path) => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(200, {
        'x-answer': 'yes',
        'x-ratelimit-remaining-tokens': '5',
        'openai-organization': 'org',
        'keep-alive': 'timeout=99',
        'proxy-authenticate': 'Basic',
        date: 'Tue, 01 Jan 2030 00:00:00 GMT',
        'content-length': 2,
      });
      res.end('{}');
    });
    const proxy = await startProxy(upstream);
    const answer = await send(`${proxy.url}${path}`, {
      method: 'POST',
      body: Buffer.from('{"messages":[]}'),
      headers: {
        Authorization: 'Bearer sk-123',
        'X-Stainless-Lang': 'js',
        session_id: 'abc',
        'X-Latin': 'caf\xe9',
        'OpenAI-Beta': 'assistants=v2',
        cookie: 'a=b',
        'accept-encoding': 'gzip, br',
        'user-agent': 'test/1',
        connection: 'keep-alive, x-hop, close',
        'x-hop': 'for the next one only',
        'keep-alive': 'timeout=5',
        'proxy-connection': 'keep-alive',
        'proxy-authorization': 'Basic eA==',
        te: 'trailers',
        'x-mcp-pruner': 'on',
        'x-mcp-pruner-project': 'mine',
      },
    });
    const { headers } = upstream.last;
    expect(headers).toMatchObject({
      authorization: 'Bearer sk-123',
      'x-stainless-lang': 'js',
      session_id: 'abc',
      'x-latin': 'caf\xe9',
      'openai-beta': 'assistants=v2',
      cookie: 'a=b',
      'accept-encoding': 'gzip, br',
      'user-agent': 'test/1',
      host: `127.0.0.1:${upstream.port}`,
      'content-length': '15',
    });
    for (const name of [
      'x-hop',
      'keep-alive',
      'proxy-connection',
      'proxy-authorization',
      'te',
      'x-mcp-pruner',
      'x-mcp-pruner-project',
    ]) {
      expect([name, headers[name]]).toEqual([name, undefined]);
    }
    expect(headers.connection ?? 'keep-alive').toBe('keep-alive');
    expect(answer.headers).toMatchObject({
      'x-answer': 'yes',
      'x-ratelimit-remaining-tokens': '5',
      'openai-organization': 'org',
      date: 'Tue, 01 Jan 2030 00:00:00 GMT',
    });
    expect(answer.headers['keep-alive']).not.toBe('timeout=99');
    expect(answer.headers['proxy-authenticate']).toBeUndefined();
    expect(answer.headers['x-powered-by']).toBeUndefined();
  });

  const sent = ['X-One', 'a', 'AUTHORIZATION', 'Bearer k', 'x-one', 'b', 'Cookie', 'c=d', 'Cookie', 'e=f'];
  it.each([
    ['/v1/chat/completions', sent],
    // node:http joins cookies, and keeps fields that repeat together
    ['/v1/files', ['X-One', 'a', 'X-One', 'b', 'AUTHORIZATION', 'Bearer k', 'Cookie', 'c=d; e=f']],
  ])('keep their spelling, order and number on %s', async (path, received) => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(200, ['X-Two', '1', 'ETag', 'W/"a"', 'x-two', '2', 'X-Two', 'caf\xe9', 'Content-Length', '2']);
      res.end(Buffer.from('{}')); // a string would make node:http write the head as UTF-8
    });
    const proxy = await startProxy(upstream);
    const answer = await send(`${proxy.url}${path}`, {
      method: 'POST',
      body: '{}',
      headers: ['Host', 'x', ...sent, 'Content-Length', '2'],
    });
    const ofHop = /^(?:host|connection|content-length|via)$/i;
    expect(pairsOf(upstream.last.rawHeaders, ofHop, true)).toEqual(pairsOf(received, /./));
    expect(pairsOf(upstream.last.rawHeaders, /^(?:host|content-length)$/i)).toEqual([
      `host: 127.0.0.1:${upstream.port}`,
      'content-length: 2',
    ]);
    expect(pairsOf(answer.rawHeaders, /^(x-two|etag)$/i)).toEqual([
      'X-Two: 1',
      'ETag: W/"a"',
      'x-two: 2',
      'X-Two: caf\xe9',
    ]);
  });

  it('pass in the same way if the client sends Expect: 100-continue', async () => {
    const upstream = await echo();
    const proxy = await startProxy(`http://127.0.0.1:${upstream.port}/base`);
    const headers = ['Host', 'x', 'X-One', 'a', 'Expect', '100-continue', 'Keep-Alive', '5', 'Content-Length', '2'];
    const answer = await send(`${proxy.url}/v1/files`, { method: 'POST', headers, body: '{}' });
    expect([answer.status, upstream.last.url, answer.body.toString()]).toEqual([200, '/base/files', '{}']);
    expect(pairsOf(upstream.last.rawHeaders, /^(?:x-one|expect|keep-alive)$/i)).toEqual(['X-One: a']);
    expect(upstream.last.headers.via).toMatch(/^1\.1 mcp-pruner-/);
  });

  it.each(['/v1/chat/completions', '/v1/files'])('arrive before the first byte of the body: %s', async (path) => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(200, ['X-Early', 'caf\xe9']).write(Buffer.alloc(0));
    });
    const proxy = await startProxy(upstream);
    const socket = await dial(proxy.port);
    socket.write(`POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}`);
    expect(await received(socket, (text) => text.includes('\r\n\r\n'))).toContain('X-Early: caf\xe9\r\n');
  });

  it.each(['/v1/chat/completions', '/v1/files', '/rpc', '/health'])(
    'are refused with 400 if Host occurs twice: %s',
    async (path) => {
      const upstream = await echo();
      const proxy = await startProxy(upstream);
      for (const further of ['', 'Connection: Upgrade\r\nUpgrade: websocket\r\n']) {
        const socket = await dial(proxy.port);
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nhost: 127.0.0.1\r\n${further}Content-Length: 2\r\n\r\n{}`,
        );
        const answer = await received(socket);
        expect(answer).toMatch(/^HTTP\/1\.1 400 /);
        expect(answer).toContain('"code":"invalid_request"');
      }
      expect(upstream.requests).toEqual([]);
    },
  );

  it('are refused with 431 if they are too large, and the server continues', async () => {
    const proxy = await startProxy(await echo());
    const answer = await send(`${proxy.url}/v1/models`, { headers: { 'x-large': 'x'.repeat(80_000) } });
    expect(answer.status).toBe(431);
    expect((await send(`${proxy.url}/v1/models`)).status).toBe(200);
  });
});

/** The fields whose name matches, or all others if `isOther`. */
function pairsOf(raw: readonly string[], wanted: RegExp, isOther = false): string[] {
  return raw.flatMap((name, i) => (i % 2 === 0 && wanted.test(name) !== isOther ? `${name}: ${raw[i + 1]}` : []));
}

describe('an upgrade', () => {
  it('to WebSocket is refused at once on other paths, so that clients fall back to POST', async () => {
    const upstream = await echo();
    const proxy = await startProxy(upstream);
    const socket = await dial(proxy.port);
    socket.write(
      `GET /v1/realtime HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    const answer = await received(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 426 /);
    expect(answer).toContain('upgrade_refused');
    expect(upstream.requests).toEqual([]);
  });

  it('to anything else is ignored: the request is served over HTTP/1.1', async () => {
    const upstream = await echo();
    const proxy = await startProxy(upstream);
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      const socket = await dial(proxy.port);
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nContent-Length: 2\r\n\r\n{}`,
      );
      expect(await received(socket, (text) => text.includes('{}'))).toMatch(/^HTTP\/1\.1 200 /);
      expect(upstream.last.headers.upgrade).toBeUndefined();
      expect(upstream.last.headers['http2-settings']).toBeUndefined();
    }
  });
});
