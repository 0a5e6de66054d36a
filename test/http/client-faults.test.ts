import { once } from 'node:events';
import http from 'node:http';
import { describe, expect, it } from 'vitest';
import { listen } from '../../src/proxy/server.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { completion, event, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';
import { dial, received, send } from '../helpers/wire.ts';

const BODY = chatBody(oneResult(serverLog(200)));
const MIB = 1024 * 1024;

const routes = [
  ['chat completions', '/v1/chat/completions'],
  ['any other path', '/v1/responses'],
] as const;

/** A request's bytes. */
function raw(path: string, body: Buffer = BODY, length = body.length): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

describe.each(routes)('a client of %s', (_name, path) => {
  it('that leaves before the answer begins ends the upstream’s request at once', async () => {
    const upstream = await startUpstream(() => {});
    const proxy = await startProxy(upstream);
    const socket = await dial(proxy.port);
    socket.write(raw(path));
    await until(() => upstream.requests.length === 1);
    socket.destroy();
    await until(() => upstream.last.gone.aborted); // whose answer would never end by itself
  });

  it('that leaves in mid-stream ends the upstream’s request at once', async () => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(event('first'));
    });
    const proxy = await startProxy(upstream);
    const socket = await dial(proxy.port);
    socket.write(raw(path));
    await received(socket, (text) => text.includes('first'));
    socket.destroy();
    await until(() => upstream.last.gone.aborted); // whose answer would never end by itself
    expect(await proxy.logText()).not.toContain('upstream failed');
  });

  it('that leaves with its body half sent does not affect other clients', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const socket = await dial(proxy.port);
    socket.write(raw(path, BODY.subarray(0, 1_000), BODY.length));
    await until(() => socket.bytesWritten > 1_000);
    expect((await send(`${proxy.url}${path}`, { method: 'POST', body: BODY })).status).toBe(200);
    socket.destroy();
    expect((await send(`${proxy.url}${path}`, { method: 'POST', body: BODY })).status).toBe(200);
    await until(() => upstream.sockets.size <= 1);
    expect(upstream.requests).toHaveLength(2);
  });

  it('that reads slowly slows the upstream down, and buffered bytes stay bounded', async () => {
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const total = 64 * MIB;
    let written = 0;
    const upstream = await startUpstream(async (_request, res) => {
      res.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': total });
      while (written < total) {
        written += chunk.length;
        if (!res.write(chunk)) await once(res, 'drain');
      }
      res.end();
    });
    const proxy = await startProxy(upstream);
    const req = http.request(`${proxy.url}${path}`, { method: 'POST', agent: false });
    req.end(BODY);
    const [res] = (await once(req, 'response')) as [http.IncomingMessage];
    afterwards(() => req.destroy());
    // Nobody reads: the upstream must come to a stop well before its end.
    let last = -1;
    await until(async () => {
      const now = written;
      const stopped = now === last;
      last = now;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return stopped;
    });
    // Sent by the upstream and not read by the client: in the proxy and in the buffers of the sockets around it. The
    // memory of this process would tell how soon its own garbage is collected instead.
    const bound = 40 * MIB;
    expect(written).toBeLessThan(bound);
    let size = 0;
    let underWay = 0;
    for await (const piece of res) {
      underWay = Math.max(underWay, written - size);
      size += (piece as Buffer).length;
    }
    expect(size).toBe(total);
    expect(underWay).toBeLessThan(bound);
  });

  it('that pipelines its requests gets the answers in order', async () => {
    const upstream = await startUpstream((request, res) => {
      const { n } = JSON.parse(request.body.toString('utf8')) as { n: number };
      // The first is answered last.
      setTimeout(() => res.end(`{"n":${n}}`), n === 1 ? 60 : 5);
    });
    const proxy = await startProxy(upstream);
    const socket = await dial(proxy.port);
    socket.write(Buffer.concat([1, 2, 3].map((n) => raw(path, Buffer.from(`{"messages":[],"n":${n}}`)))));
    const text = await received(socket, (sofar) => sofar.includes('{"n":3}'));
    expect([...text.matchAll(/\{"n":(\d)\}/g)].map(([, n]) => n)).toEqual(['1', '2', '3']);
  });

  it('that sends Expect: 100-continue receives 100 Continue', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const socket = await dial(proxy.port);
    socket.write(
      raw(path, Buffer.alloc(0), BODY.length).toString().replace('\r\n\r\n', '\r\nExpect: 100-continue\r\n\r\n'),
    );
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(BODY);
    expect(await received(socket, (text) => text.includes('usage'))).toMatch(/^HTTP\/1\.1 200 /);
  });
});

/** Longest pause in a body: many times that of a client that goes on sending on a busy machine. */
const IDLE_MS = 1_000;

describe('a request body in transit', () => {
  const startListening = async () => {
    const bodies: string[] = [];
    const server = await listen({
      health: () => ({}),
      host: '127.0.0.1',
      port: 0,
      drainTimeoutMs: 0,
      bodyIdleTimeoutMs: IDLE_MS,
    });
    server.serve({
      hops: { isLoop: () => false },
      wireFor: () => null,
      app: async (req, res) => {
        try {
          const chunks: Buffer[] = [];
          for await (const chunk of req) chunks.push(chunk as Buffer);
          bodies.push(Buffer.concat(chunks).toString());
          setTimeout(() => res.end('{}'), 1.2 * IDLE_MS);
        } catch {
          bodies.push('gone');
        }
      },
    });
    afterwards(() => server.close());
    return { bodies, port: Number(new URL(server.url).port) };
  };

  it('may take any time while data arrives, and so may the answer', async () => {
    const { bodies, port } = await startListening();
    const socket = await dial(port);
    socket.write('POST /v1/files HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    const endMs = performance.now() + 1.2 * IDLE_MS;
    while (performance.now() < endMs) {
      socket.write('1\r\nx\r\n');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    socket.write('0\r\n\r\n');
    expect(await received(socket, (text) => text.includes('{}'))).toMatch(/^HTTP\/1\.1 200 /);
    expect(bodies).toEqual([expect.stringMatching(/^x{2,}$/)]);
  });

  it('is aborted if it stalls', async () => {
    const { bodies, port } = await startListening();
    const socket = await dial(port);
    socket.write('POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nxx');
    expect(await received(socket)).toBe('');
    await until(() => bodies.length === 1);
    expect(bodies).toEqual(['gone']);
  });
});

describe('a client', () => {
  it('that disconnects while its request is pruned causes no upstream cost, and decisions are kept', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const body = chatBody(oneResult(serverLog(20_000)));
    const socket = await dial(proxy.port);
    socket.write(raw('/v1/chat/completions', body));
    await until(() => socket.bytesWritten >= body.length);
    socket.destroy();
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ end: 'client_gone' });
    expect((await proxy.chat(body)).status).toBe(200);
    expect(upstream.last.body.includes('prune_id=')).toBe(true);
  });

  it('that sends invalid HTTP receives an error, and others are served', async () => {
    const proxy = await startProxy(await startUpstream());
    for (const bytes of [
      'hello\r\n\r\n',
      'POST /v1/chat/completions HTTP/1.1\r\nContent-Length: x\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      '\x16\x03\x01\x02\x00',
    ]) {
      const socket = await dial(proxy.port);
      socket.write(bytes);
      expect(await received(socket)).toMatch(/^(HTTP\/1\.1 4\d\d |$)/);
    }
    expect((await proxy.chat(BODY)).status).toBe(200);
  });

  it('is served while three hundred others keep idle connections open', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const sockets = await Promise.all(Array.from({ length: 300 }, () => dial(proxy.port)));
    for (const socket of sockets) socket.write('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    await Promise.all(sockets.map((socket) => once(socket, 'data')));
    expect((await proxy.chat(BODY)).status).toBe(200);
    expect(sockets.every(({ destroyed }) => !destroyed)).toBe(true);
  });

  it('that sent a request before the server stopped gets its whole answer', async () => {
    let goOn: () => void = () => {};
    const stopped = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const upstream = await startUpstream(async (request, res, index) => {
      if (index > 0) return completion()(request, res, index);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(event('first'));
      await stopped;
      res.end(event('last'));
    });
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_DRAIN_TIMEOUT_MS: '3600000' } });
    const agent = new http.Agent({ keepAlive: true });
    afterwards(() => agent.destroy());
    const idle = await dial(proxy.port);
    const { url } = proxy;
    const answer = send(`${url}/v1/chat/completions`, { method: 'POST', body: BODY, agent });
    await until(() => upstream.requests.length === 1);
    const ended = proxy.stop();
    await until(() =>
      send(`${url}/health`).then(
        () => false,
        () => true,
      ),
    ); // new connections are refused
    goOn();
    expect((await answer).body.toString('utf8')).toContain('last');
    await ended; // not the limit, an hour: nothing is left to wait for
    await until(() => idle.destroyed || idle.readableEnded || idle.closed);
  });

  it('is disconnected if it is not done at the drain limit', async () => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(event('for ever'));
    });
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_DRAIN_TIMEOUT_MS: '200' } });
    const answer = send(`${proxy.url}/v1/chat/completions`, { method: 'POST', body: BODY });
    const broken = expect(answer).rejects.toThrow();
    await until(() => upstream.requests.length === 1);
    await proxy.stop();
    await broken;
    await until(() => upstream.last.gone.aborted);
  });
});
