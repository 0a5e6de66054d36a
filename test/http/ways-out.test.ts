import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { JsonPoster } from '@mcp-pruner/backends/post-json.ts';
import { describe, expect, it } from 'vitest';
import { routeTo } from '../../src/core/proxy-route.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { startSocketUpstream } from '../helpers/fake-socket-upstream.ts';
import { completion, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { openSocket } from '../helpers/socket-client.ts';
import { send } from '../helpers/wire.ts';

/** A forward proxy on loopback that takes every name for this machine. */
async function startForwardProxy(): Promise<{ url: string; seen: string[]; authorizations: unknown[] }> {
  const seen: string[] = [];
  const authorizations: unknown[] = [];
  const note = (req: IncomingMessage): void => {
    seen.push(`${req.method} ${req.url}`);
    authorizations.push(req.headers['proxy-authorization']);
  };
  const server = createServer((req, res) => {
    note(req);
    const { port, pathname, search } = new URL(req.url ?? '');
    const { 'proxy-authorization': _, ...headers } = req.headers;
    const onward = request(
      { host: '127.0.0.1', port, path: pathname + search, method: req.method, headers },
      (answer) => {
        res.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(res);
      },
    );
    onward.on('error', () => res.destroy());
    req.pipe(onward);
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  server.on('connect', (req, socket: Socket) => {
    note(req);
    const onward = connect(Number(req.url?.split(':')[1]), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.pipe(socket);
      socket.pipe(onward);
    });
    for (const each of [socket, onward]) each.on('error', () => each.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterwards(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, authorizations };
}

describe('requests to the upstream', () => {
  it('for a WebSocket use a tunnel through HTTP_PROXY, with its user and password', async () => {
    const upstream = await startSocketUpstream();
    upstream.onMessage = (socket, message) => socket.send(message);
    const forward = await startForwardProxy();
    const proxy = await startProxy(`http://model.test:${upstream.port}/v1`, {
      env: { HTTP_PROXY: forward.url.replace('//', '//me:p%40ss@') },
    });
    const client = await openSocket(proxy.url);
    client.socket.send('{"type":"hello"}');
    expect((await client.received(1)).map(String)).toEqual(['{"type":"hello"}']);
    expect(forward.seen).toEqual([`CONNECT model.test:${upstream.port}`]);
    expect(forward.authorizations[0]).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`);
    expect(upstream.last.request.headers.host).toBe(`model.test:${upstream.port}`);
  });

  it.each(['/v1/chat/completions', '/v1/embeddings'])(
    'for %s go through HTTP_PROXY, with its user and password',
    async (path) => {
      const upstream = await startUpstream(completion('Fine.'));
      const forward = await startForwardProxy();
      const proxy = await startProxy(`http://model.test:${upstream.port}/v1`, {
        env: { HTTP_PROXY: forward.url.replace('//', '//me:p%40ss@') },
      });
      const body = chatBody(oneResult('short'));
      for (let i = 0; i < 2; i++) {
        const answer = await send(`${proxy.url}${path}`, { method: 'POST', body });
        expect(answer.status).toBe(200);
      }
      expect(forward.seen).toEqual(Array(2).fill(`POST http://model.test:${upstream.port}${path}`));
      expect(forward.authorizations[0]).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`);
      expect(upstream.last.headers.host).toBe(`model.test:${upstream.port}`);
      expect(upstream.last.body.equals(body)).toBe(true);
      expect(await proxy.logText()).not.toContain('p%40ss');
    },
  );

  it.each(['/v1/chat/completions', '/v1/embeddings'])('for %s go directly if NO_PROXY lists the host', async (path) => {
    const upstream = await startUpstream();
    const forward = await startForwardProxy();
    const proxy = await startProxy(upstream, { env: { HTTP_PROXY: forward.url, NO_PROXY: 'x.test,127.0.0.1' } });
    expect((await send(`${proxy.url}${path}`, { method: 'POST', body: '{"messages":[]}' })).status).toBe(200);
    expect(forward.seen).toEqual([]);
  });

  it.each(['/v1/chat/completions', '/v1/embeddings'])('for %s over https use an HTTPS_PROXY tunnel', async (path) => {
    const upstream = await startUpstream();
    const forward = await startForwardProxy();
    const proxy = await startProxy(`https://model.test:${upstream.port}/v1`, { env: { HTTPS_PROXY: forward.url } });
    // what is behind the tunnel speaks no TLS: the way is what counts here
    expect((await send(`${proxy.url}${path}`, { method: 'POST', body: '{"messages":[]}' })).status).toBe(502);
    expect(forward.seen).toContain(`CONNECT model.test:${upstream.port}`);
  });
});

describe('a call to a remote backend', () => {
  it('goes through the HTTP proxy too', async () => {
    const upstream = await startUpstream((_request, res) => res.end('{"ok":true}'));
    const forward = await startForwardProxy();
    const poster = new JsonPoster({ httpProxy: forward.url, httpsProxy: null, noProxy: ['straight.test'] });
    afterwards(() => poster.close());
    const url = `http://rank.test:${upstream.port}/rank`;
    expect((await poster.post({ url, body: {}, timeoutMs: 5_000, maxBytes: 1_000 })).json).toEqual({ ok: true });
    expect(forward.seen).toEqual([`POST ${url}`]);
  });
});

describe('routeTo', () => {
  const proxies = { httpProxy: 'http://u:p@proxy:3128', httpsProxy: 'http://tls:1', noProxy: [] };
  it.each<[string, readonly string[], string]>([
    ['http://a.test/v1', [], 'via proxy http://proxy:3128'],
    ['https://a.test/v1', [], 'via proxy http://tls:1'],
    ['https://a.test/v1', ['*'], 'direct'],
    ['https://api.a.test/v1', ['a.test'], 'direct'],
    ['https://api.a.test/v1', ['.a.test'], 'direct'],
    ['https://api.a.test/v1', ['*.A.test'], 'direct'],
    ['https://aa.test/v1', ['a.test'], 'via proxy http://tls:1'],
    ['https://a.test/v1', ['a.test:8443'], 'via proxy http://tls:1'],
    ['https://a.test/v1', ['a.test:443'], 'direct'],
    ['http://[::1]:8080/v1', ['[::1]'], 'direct'],
    ['http://[::1]:8080/v1', ['::1'], 'direct'],
    ['http://[::1]:8080/v1', ['[::1]:9090'], 'via proxy http://proxy:3128'],
    ['http://[2001:db8::7]/v1', ['::1', '2001:DB8:0::/32'], 'direct'],
    ['http://10.1.2.3/v1', ['a.test', '10.0.0.0/8'], 'direct'],
    ['http://11.1.2.3/v1', ['10.0.0.0/8', '10.0.0.0/99', 'x/8'], 'via proxy http://proxy:3128'],
    ['http://10.1.2.3/v1', ['a.test 10.1.2.3'], 'direct'],
    ['http://aa.test/v1', ['a.test \t b.test'], 'via proxy http://proxy:3128'],
    ['http://b.test/v1', ['a.test \t b.test'], 'direct'],
  ])('%s with NO_PROXY %j: %s', (url, noProxy, shown) => {
    expect(routeTo(url, { ...proxies, noProxy }).shown).toBe(shown);
  });

  it('uses HTTP_PROXY for https if HTTPS_PROXY is not set, and no proxy if neither is set', () => {
    expect(routeTo('https://a.test', { ...proxies, httpsProxy: null }).proxy).toBe(proxies.httpProxy);
    expect(routeTo('https://a.test', { httpProxy: null, httpsProxy: null, noProxy: [] }).shown).toBe('direct');
  });
});
