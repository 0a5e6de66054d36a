import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { completion, event, lastEvents, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';
import { dial, freePort, send, startRawServer, type WireAnswer } from '../helpers/wire.ts';

const BODY = chatBody(oneResult(serverLog(200)));
/** Longest pause in an answer: many times that of an upstream that goes on streaming on a busy machine. */
const LIMIT_MS = 1_000;

/** The two ways through: what is pruned, and what is passed on as it is. */
const routes = [
  ['chat completions', '/v1/chat/completions'],
  ['any other path', '/v1/responses'],
] as const;

function ask(proxy: TestProxy, path: string = routes[0][1]): Promise<WireAnswer> {
  return send(`${proxy.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: BODY });
}

/** A proxy before a server that says these bytes, whatever it is asked, and then ends or stays silent. */
async function inFrontOf(bytes: string | Buffer, { ends = true, env = {} } = {}): Promise<TestProxy> {
  const url = await startRawServer((socket) => {
    socket.write(bytes);
    if (ends) socket.end();
  });
  return startProxy(url, { env });
}

function errorOf(answer: WireAnswer): { code: string; type: string; message: string } {
  return (JSON.parse(answer.body.toString('utf8')) as { error: { code: string; type: string; message: string } }).error;
}

describe.each(routes)('an upstream behind %s', (_name, path) => {
  it('that refuses connections causes a 502 with advice', async () => {
    const proxy = await startProxy(`http://127.0.0.1:${await freePort()}/v1`);
    const answer = await ask(proxy, path);
    expect([answer.status, answer.headers['content-type']]).toEqual([502, 'application/json']);
    expect(errorOf(answer)).toMatchObject({ code: 'upstream_unreachable', type: 'mcp_pruner_error' });
    expect(errorOf(answer).message).toContain('MCP_PRUNER_UPSTREAM_URL');
  });

  it('that has no address causes a 502', async () => {
    const answer = await ask(await startProxy('http://no-such-host.invalid/v1'), path);
    expect([answer.status, errorOf(answer).code]).toEqual([502, 'upstream_unreachable']);
  });

  it('that resets the connection before it answers causes a 502', async () => {
    const url = await startRawServer((socket) => socket.resetAndDestroy());
    expect((await ask(await startProxy(url), path)).status).toBe(502);
  });

  it.each([
    'garbage that is no HTTP\r\n\r\n',
    'HTTP/1.1 banana\r\n\r\n',
    'HTTP/1.1 200 OK\r\ncontent-length: banana\r\n\r\n',
    '',
  ])('that answers %j causes a 502', async (bytes) =>
    expect((await ask(await inFrontOf(bytes), path)).status).toBe(502),
  );

  it('that breaks off in the middle of a body ends the answer to the client there', async () => {
    const proxy = await inFrontOf('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf of it');
    await expect(ask(proxy, path)).rejects.toThrow();
    expect((await send(`${proxy.url}/health`)).status).toBe(200);
  });

  it('that resets in the middle of a body breaks off the answer to the client', async () => {
    const url = await startRawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n');
      setTimeout(() => socket.resetAndDestroy(), 20);
    });
    await expect(ask(await startProxy(url), path)).rejects.toThrow();
  });

  it('that sends broken chunks breaks off the answer to the client', async () => {
    const proxy = await inFrontOf('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\n');
    await expect(ask(proxy, path)).rejects.toThrow();
  });

  it('that stalls before it answers causes a 504 once the time-out has passed', async () => {
    const proxy = await inFrontOf('', { ends: false, env: { MCP_PRUNER_UPSTREAM_TIMEOUT_MS: '300' } });
    const startedAt = performance.now();
    const answer = await ask(proxy, path);
    expect([answer.status, errorOf(answer).code]).toEqual([504, 'upstream_timeout']);
    expect(performance.now() - startedAt).toBeGreaterThan(250);
  });

  it('that stalls in mid-stream breaks off the answer to the client after the time-out', async () => {
    const head =
      'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n';
    const env = { MCP_PRUNER_UPSTREAM_TIMEOUT_MS: '300' };
    await expect(ask(await inFrontOf(head, { ends: false, env }), path)).rejects.toThrow();
  });

  it('that keeps streaming is never timed out', async () => {
    const upstream = await startUpstream(async (_request, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const endMs = performance.now() + 2 * LIMIT_MS;
      while (performance.now() < endMs) {
        res.write(event('and'));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      res.end(lastEvents());
    });
    const env = { MCP_PRUNER_UPSTREAM_TIMEOUT_MS: String(LIMIT_MS) };
    const answer = await ask(await startProxy(upstream, { env }), path);
    expect(answer.body.toString('utf8')).toContain('[DONE]');
  });

  it('that speaks HTTP/1.0 has its whole answer passed on', async () => {
    const answer = await ask(await inFrontOf('HTTP/1.0 200 OK\r\ncontent-type: text/plain\r\n\r\nold but good'), path);
    expect([answer.status, answer.body.toString()]).toEqual([200, 'old but good']);
  });

  it('that sends interim answers first has its final one passed on', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n';
    const proxy = await inFrontOf(`${early}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`);
    const answer = await ask(proxy, path);
    expect([answer.status, answer.body.toString()]).toEqual([200, 'ok']);
  });

  it('that switches protocols without being asked causes a 502', async () => {
    const proxy = await inFrontOf(
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
      { ends: false },
    );
    expect((await ask(proxy, path)).status).toBe(502);
  });

  it('that closes the connection after each answer gets a new connection each time', async () => {
    const upstream = await startUpstream((_request, res) => {
      res.setHeader('connection', 'close');
      res.end('{}');
    });
    const proxy = await startProxy(upstream);
    for (let i = 0; i < 5; i++) expect((await ask(proxy, path)).status).toBe(200);
    expect(upstream.connections).toBe(5);
  });

  it('is reached over one reused connection', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    for (let i = 0; i < 5; i++) expect((await ask(proxy, path)).status).toBe(200);
    expect(upstream.connections).toBe(1);
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('that compresses with %s is passed on without being decoded', async (encoding, compress) => {
    const bytes = compress(Buffer.from(`{"usage":{"prompt_tokens":5},"x":"${'y'.repeat(5_000)}"}`));
    const upstream = await startUpstream((_request, res) => {
      res.setHeader('content-encoding', encoding);
      res.end(bytes);
    });
    const answer = await ask(await startProxy(upstream), path);
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(answer.body.equals(bytes)).toBe(true);
  });

  it.each([
    [204, ''],
    [304, ''],
    [200, ''],
    [299, 'odd'],
    [418, 'teapot'],
    [599, 'x'],
  ])('that answers %s with %j is passed on', async (status, text) => {
    const upstream = await startUpstream((_request, res) => {
      res.writeHead(status, { 'x-odd': 'yes' });
      res.end(text);
    });
    const answer = await ask(await startProxy(upstream), path);
    expect([answer.status, answer.headers['x-odd'], answer.body.toString()]).toEqual([status, 'yes', text]);
  });

  it('that sends a non-ASCII reason and header field has them passed on', async () => {
    const bytes = Buffer.from('HTTP/1.1 200 Tr\xe8s bien\r\nx-name: caf\xe9\r\ncontent-length: 2\r\n\r\nok', 'latin1');
    const answer = await ask(await inFrontOf(bytes), path);
    expect([answer.status, answer.headers['x-name'], answer.body.toString()]).toEqual([200, 'caf\xe9', 'ok']);
  });

  it('that repeats a header field has every value passed on', async () => {
    const upstream = await startUpstream((_request, res) => {
      res.setHeader('set-cookie', ['a=1', 'b=2']);
      res.end('{}');
    });
    expect((await ask(await startProxy(upstream), path)).headers['set-cookie']).toEqual(['a=1', 'b=2']);
  });

  it('that sends many megabytes has every byte passed on', async () => {
    const bytes = randomBytes(8 * 1024 * 1024);
    const upstream = await startUpstream((_request, res) => res.end(bytes));
    const answer = await ask(await startProxy(upstream), path);
    const hash = (of: Buffer) => createHash('sha256').update(of).digest('hex');
    expect(hash(answer.body)).toBe(hash(bytes));
  });

  it('that answers before it has read the request has its answer forwarded', async () => {
    const url = await startRawServer((socket: Socket) => {
      socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbig');
      socket.end();
    });
    const proxy = await startProxy(url);
    const body = chatBody(oneResult('x'.repeat(8_000_000)));
    const answer = await send(`${proxy.url}${path}`, { method: 'POST', body }).catch(() => null);
    // Without a proxy too a client that is still sending may see the connection close first.
    if (answer) expect([413, 502]).toContain(answer.status);
    expect((await send(`${proxy.url}/health`)).status).toBe(200);
  });
});

describe('a stream that the upstream resets a hundred times', () => {
  it('ends for each client, leaves no connection open, and the next request is served', async () => {
    let faults = true;
    const upstream = await startUpstream((request, res, index) => {
      if (!faults) return completion('fine')(request, res, index);
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(event('first'), () => res.socket?.resetAndDestroy());
    });
    const proxy = await startProxy(upstream);
    for (let round = 0; round < 5; round++) {
      const ends = await Promise.allSettled(Array.from({ length: 20 }, () => ask(proxy)));
      expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(20);
    }
    faults = false;
    expect((await ask(proxy)).status).toBe(200);
    await until(() => upstream.sockets.size <= 1);
    const lines = await proxy.requestLines(101);
    expect(lines.filter(({ upstreamError }) => upstreamError === 'reset')).toHaveLength(100);
  });
});

describe.each(routes)('large header fields on %s', (_name, path) => {
  it('are passed on with an answer', async () => {
    const upstream = await startUpstream((_request, res) => {
      for (let i = 0; i < 20; i++) res.setHeader(`x-policy-${i}`, 'p'.repeat(2_000));
      res.end('{}');
    });
    const proxy = await startProxy(upstream);
    const large = await send(`${proxy.url}${path}`, { method: 'POST', body: BODY, maxHeaderSize: 100_000 });
    expect([large.status, large.headers['x-policy-19']]).toEqual([200, 'p'.repeat(2_000)]);
  });
});

describe('a malformed chunk of an answer', () => {
  it.each(['/v1/chat/completions', '/v1/embeddings'])('ends the answer to %s at once', async (path) => {
    const broken = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\nno length\r\n';
    await expect(ask(await inFrontOf(broken, { ends: false }), path)).rejects.toThrow();
  });

  it('that comes first ends the answer after its head, without a 502', async () => {
    const head = 'HTTP/1.1 200 Fine\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n';
    const proxy = await inFrontOf(`${head}no length\r\n`, { ends: false });
    const socket = await dial(proxy.port);
    let received = '';
    socket.on('data', (piece: Buffer) => {
      received += piece.toString();
    });
    const closed = once(socket, 'close');
    socket.write('GET /v1/files HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');
    await closed;
    expect(received).toMatch(/^HTTP\/1\.1 200 Fine\r\n/);
    expect(received).not.toMatch(/502|upstream_unreachable/);
  });
});

describe('trailers', () => {
  it.each(['/v1/chat/completions', '/v1/embeddings'])('are passed on after a streamed answer to %s', async (path) => {
    const chunked =
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n2\r\nok\r\n0\r\nx-sum: 42\r\n\r\n';
    const answer = await ask(await inFrontOf(chunked), path);
    expect([answer.body.toString(), answer.trailers['x-sum']]).toEqual(['ok', '42']);
  });
});
