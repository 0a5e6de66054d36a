import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { afterwards } from '../helpers/afterwards.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { send, startRawServer } from '../helpers/wire.ts';

const routes = [
  ['chat completions', '/v1/chat/completions'],
  ['any other path', '/v1/embeddings'],
] as const;

const BODY = '{"messages":[]}';
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

function ask(proxy: TestProxy, path: string, body: Buffer | string = BODY) {
  return send(`${proxy.url}${path}`, { method: 'POST', body });
}

/** An upstream that answers each connection's first request, and meets every later one with the end of the connection. */
async function startForgetful(onSecond: (socket: Socket) => void) {
  const seen = { requests: 0, connections: 0, bodies: [] as string[] };
  const server = createServer((socket) => {
    seen.connections++;
    let served = 0;
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const end = text.indexOf('\r\n\r\n') + 4;
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
      if (end < 4 || text.length < end + length) return;
      seen.requests++;
      seen.bodies.push(text.slice(end, end + length));
      text = '';
      if (served++ === 0) socket.write(ANSWER);
      else onSecond(socket);
    });
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterwards(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

describe.each(routes)('a kept-alive connection to the upstream, for %s,', (_name, path) => {
  it.each([
    ['ended', (socket: Socket) => void socket.end()],
    ['reset', (socket: Socket) => void socket.resetAndDestroy()],
  ])('that is %s during a request causes one retry over a new connection', async (_how, onSecond) => {
    const { seen, url } = await startForgetful(onSecond);
    const proxy = await startProxy(url);
    for (let i = 0; i < 4; i++) {
      const answer = await ask(proxy, path, `{"messages":[],"n":${i}}`);
      expect([i, answer.status, answer.body.toString()]).toEqual([i, 200, 'ok']);
    }
    expect(seen.bodies.at(-1)).toBe('{"messages":[],"n":3}');
    expect(seen.requests).toBeLessThanOrEqual(8);
  });

  it('causes no retry once an answer has begun', async () => {
    const { seen, url } = await startForgetful((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf', () => socket.resetAndDestroy());
    });
    const proxy = await startProxy(url);
    expect((await ask(proxy, path)).status).toBe(200);
    await expect(ask(proxy, path)).rejects.toThrow();
    expect(seen.requests).toBe(2);
  });

  it('causes no retry of its first request, because the request may have been read', async () => {
    let requests = 0;
    const url = await startRawServer((socket) => {
      requests++;
      socket.resetAndDestroy();
    });
    const proxy = await startProxy(url);
    expect((await ask(proxy, path)).status).toBe(502);
    expect(requests).toBe(1);
  });
});

describe.each(routes)('an upstream of %s', (_name, path) => {
  it('that sends an unrequested 100 Continue is handled', async () => {
    const url = await startRawServer((socket) => socket.end(`HTTP/1.1 100 Continue\r\n\r\n${ANSWER}`));
    const proxy = await startProxy(url);
    for (let i = 0; i < 2; i++) {
      const answer = await ask(proxy, path);
      expect([answer.status, answer.body.toString()]).toEqual([200, 'ok']);
    }
  });

  it('that streams, breaks off or stays silent after 100 Continue is handled like any other', async () => {
    const says = [
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf',
      '',
    ];
    for (const rest of says) {
      const url = await startRawServer((socket) => {
        socket.write(`HTTP/1.1 100 Continue\r\n\r\n${rest}`);
        if (rest.includes('half')) socket.end();
      });
      const env = { MCP_PRUNER_UPSTREAM_TIMEOUT_MS: rest === '' ? '300' : '30000' };
      const answer = await ask(await startProxy(url, { env }), path).catch(() => null);
      if (rest === '') expect(answer?.status).toBe(504);
      else if (rest.includes('half')) expect(answer).toBeNull();
      else expect(answer?.body.toString()).toBe('hello');
    }
  });

  it('that does not speak HTTP is reported as such', async () => {
    const url = await startRawServer((socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n\r\n'));
    const answer = await ask(await startProxy(url), path);
    expect(answer.status).toBe(502);
    expect(answer.body.toString()).toContain('garbled');
    expect(answer.body.toString()).toContain('is not valid HTTP');
    expect(answer.body.toString()).not.toContain('undefined');
  });

  it('with an address in capital letters is reached', async () => {
    const url = await startRawServer((socket) => socket.write(ANSWER));
    const proxy = await startProxy(url.replace('http', 'HTTP'));
    expect((await ask(proxy, path)).status).toBe(200);
  });

  it('has the header fields listed in its Connection field removed', async () => {
    const url = await startRawServer((socket) =>
      socket.write(
        'HTTP/1.1 200 OK\r\nconnection: keep-alive, x-mine\r\nx-mine: 1\r\nx-yours: 2\r\ncontent-length: 2\r\n\r\nok',
      ),
    );
    const { headers } = await ask(await startProxy(url), path);
    expect([headers['x-mine'], headers['x-yours']]).toEqual([undefined, '2']);
  });

  it('that forwards back to the proxy is detected after one round trip', async () => {
    let back: string | null = null;
    // the way back that the proxy cannot see: whatever comes is carried to it
    const url = await startRawServer((socket, head) => {
      const carrier = connect(Number(new URL(back ?? '').port), '127.0.0.1');
      carrier.on('error', () => {});
      carrier.write(Buffer.from(head, 'latin1'));
      carrier.pipe(socket);
    });
    const proxy = await startProxy(url);
    back = proxy.url;
    const answer = await ask(proxy, path);
    expect([answer.status, JSON.parse(answer.body.toString()).error.code]).toEqual([508, 'loop_detected']);
  });
});
