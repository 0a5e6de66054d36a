import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { afterwards } from '../helpers/afterwards.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { until } from '../helpers/until.ts';
import { dial, received } from '../helpers/wire.ts';

/** Paths on which an upload streams, and the settings that make it so. */
const routes = [
  ['the pass-through', '/v1/files', {}],
  ['chat completions above the limit', '/v1/chat/completions', { MCP_PRUNER_MAX_BODY_BYTES: '1000' }],
] as const;

/** An upstream that answers at the head of each upload; what it does with the upload is the test's. */
async function startHasty(status: number, then: (res: ServerResponse) => void): Promise<string> {
  const server = createServer((req, res) => {
    res.on('error', () => {});
    req.on('error', () => {});
    if (req.method === 'GET') return res.end('models');
    res.writeHead(status, { 'content-type': 'application/json', 'content-length': 11 });
    res.end('{"early":1}', () => then(res));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterwards(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

function head(path: string, framing: string): string {
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`;
}

/** Writes everything before it reads anything, as simple clients do. */
async function writeAll(socket: Socket, bytes: Buffer): Promise<void> {
  socket.pause();
  for (let at = 0; at < bytes.length; at += 64 * 1024) {
    if (!socket.write(bytes.subarray(at, at + 64 * 1024))) await once(socket, 'drain');
  }
}

async function askOnSameConnection(proxy: TestProxy, path: string, upload: Buffer, framing: string): Promise<string> {
  const socket = await dial(proxy.port);
  await writeAll(socket, Buffer.concat([Buffer.from(head(path, framing)), upload]));
  socket.write('GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  return received(socket, (text) => text.includes('models'));
}

describe.each(routes)('an answer that comes before the upload has ended, on %s', (_name, path, env) => {
  it.each([
    [401, 500_000],
    [413, 3_000_000],
    [429, 3_000_000],
  ])(
    '(%i, %i bytes) reaches a client that writes before it reads, and its next request is served',
    async (status, size) => {
      const unread = await startHasty(status, () => {}); // neither reads nor closes
      const proxy = await startProxy(unread, { env });
      const upload = Buffer.alloc(size, ' ');
      const text = await askOnSameConnection(proxy, path, upload, `Content-Length: ${size}`);
      expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(text).toContain('{"early":1}');
      expect(text.endsWith('models')).toBe(true);
    },
  );

  it('arrives during a chunked upload as well', async () => {
    const proxy = await startProxy(await startHasty(401, () => {}), { env });
    const upload = Buffer.from(`186a00\r\n${' '.repeat(0x186a00)}\r\n0\r\n\r\n`);
    const text = await askOnSameConnection(proxy, path, upload, 'Transfer-Encoding: chunked');
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
    expect(text.endsWith('models')).toBe(true);
  });

  it('leaves no connection to the upstream open', async () => {
    const open = new Set<Socket>();
    const url = await startHasty(413, (res) => {
      const { socket } = res;
      if (!socket) return;
      open.add(socket);
      socket.once('close', () => open.delete(socket));
    });
    const proxy = await startProxy(url, { env });
    const socket = await dial(proxy.port);
    await writeAll(
      socket,
      Buffer.concat([Buffer.from(head(path, 'Content-Length: 3000000')), Buffer.alloc(3_000_000)]),
    );
    await received(socket, (text) => text.includes('early'));
    await until(() => open.size === 0);
  });

  it('causes no unexpected error if the client disconnects', async () => {
    const proxy = await startProxy(await startHasty(413, () => {}), { env });
    const socket = await dial(proxy.port);
    socket.write(Buffer.concat([Buffer.from(head(path, 'Content-Length: 3000000')), Buffer.alloc(500_000)]));
    await received(socket, (text) => text.includes('early'));
    socket.destroy();
    expect((await fetch(`${proxy.url}/v1/models`)).status).toBe(200);
    expect(await proxy.logText()).not.toContain('unexpected');
  });
});
