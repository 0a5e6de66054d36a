import { randomBytes } from 'node:crypto';
import type net from 'node:net';
import { describe, expect, it } from 'vitest';
import { startSocketUpstream } from '../helpers/fake-socket-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { until } from '../helpers/until.ts';
import { dial, received } from '../helpers/wire.ts';

const OPENING = [
  'GET /v1/responses HTTP/1.1',
  'Host: localhost',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];
const TEXT = 0x1;
const BINARY = 0x2;
const CLOSE = 0x8;
const PING = 0x9;
const FIN = 0x80;

interface Shape {
  /** FIN and the reserved bits. */
  readonly bits?: number;
  readonly isMasked?: boolean;
}

/** A frame of RFC 6455 §5.2. */
function frame(opcode: number, payload: Buffer | string, { bits = FIN, isMasked = true }: Shape = {}): Buffer {
  const bytes = Buffer.from(payload);
  const size = bytes.length < 126 ? [bytes.length] : [126, bytes.length >> 8, bytes.length & 0xff];
  const [first = 0, ...more] = size;
  const mask = isMasked ? randomBytes(4) : Buffer.alloc(4);
  const masked = bytes.map((byte, i) => byte ^ (mask[i % 4] ?? 0));
  return Buffer.concat([
    Buffer.from([bits | opcode, (isMasked ? 0x80 : 0) | first, ...more]),
    isMasked ? mask : Buffer.alloc(0),
    masked,
  ]);
}

const closing = (code: number, reason = ''): Buffer =>
  Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason)]);

/** A connection that was upgraded. */
async function opened(port: number): Promise<net.Socket> {
  const socket = await dial(port);
  socket.write(`${OPENING.join('\r\n')}\r\n\r\n`);
  let head = '';
  while (!head.includes('\r\n\r\n')) head += String(await new Promise((resolve) => socket.once('data', resolve)));
  expect(head).toMatch(/^HTTP\/1\.1 101 /);
  // RFC 6455 §1.3 gives this answer to the sample key
  expect(head).toContain('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
  return socket;
}

/** The code of the close frame that the server ends a connection with; `null`: it ends without one. */
async function codeAfter(socket: net.Socket, ...frames: readonly Buffer[]): Promise<number | null> {
  socket.write(Buffer.concat(frames));
  const bytes = Buffer.from(await received(socket), 'latin1');
  const at = bytes.lastIndexOf(FIN | CLOSE);
  return at < 0 || bytes.length < at + 4 ? null : bytes.readUInt16BE(at + 2);
}

const FORBIDDEN: readonly (readonly [name: string, frames: readonly Buffer[]])[] = [
  ['a frame that is not masked (5.1)', [frame(TEXT, 'a', { isMasked: false })]],
  ['a reserved bit (5.2)', [frame(TEXT, 'a', { bits: FIN | 0x20 })]],
  ['an opcode that is reserved (5.2)', [frame(0x3, 'a')]],
  ['a control opcode that is reserved (5.2)', [frame(0xb, '')]],
  ['a ping in fragments (5.5)', [frame(PING, 'a', { bits: 0 })]],
  ['a ping of 126 bytes (5.5)', [frame(PING, 'a'.repeat(126))]],
  ['a continuation of nothing (5.4)', [frame(0x0, 'a')]],
  ['a message inside a message (5.4)', [frame(TEXT, 'a', { bits: 0 }), frame(TEXT, 'b')]],
  ['text that is no UTF-8 (8.1)', [frame(TEXT, Buffer.from([0xc3, 0x28]))]],
  ['a close frame of one byte (5.5.1)', [frame(CLOSE, Buffer.from([3]))]],
  ['a close code that must not be sent (7.4.1)', [frame(CLOSE, closing(1005))]],
  ['a close code below 1000 (7.4.2)', [frame(CLOSE, closing(999))]],
  ['a close reason that is no UTF-8 (5.5.1)', [frame(CLOSE, Buffer.concat([closing(1000), Buffer.from([0xff])]))]],
];

describe('a WebSocket of a client', () => {
  it('is closed with a protocol error on frames that RFC 6455 forbids, and these are not forwarded', async () => {
    const upstream = await startSocketUpstream();
    const proxy = await startProxy(upstream.url);
    for (const [name, frames] of FORBIDDEN) {
      const code = await codeAfter(await opened(proxy.port), ...frames);
      expect([name, code === null || code === 1002 || code === 1007]).toEqual([name, true]);
      await until(() => upstream.connections.length > 0);
      expect([name, (await upstream.last.closed).length]).toEqual([name, 2]);
    }
    expect(upstream.connections.flatMap(({ messages }) => messages)).toEqual([]);
  });

  it('may send a fragmented message with a ping in between, and empty messages', async () => {
    const upstream = await startSocketUpstream();
    const proxy = await startProxy(upstream.url);
    const socket = await opened(proxy.port);
    socket.write(
      Buffer.concat([
        frame(TEXT, '{"a":"', { bits: 0 }),
        frame(PING, 'here?'),
        frame(0x0, 'ä', { bits: 0 }),
        frame(0x0, '', { bits: 0 }),
        frame(0x0, '"}'),
        frame(BINARY, Buffer.from([0, 0xff])),
        frame(TEXT, ''),
      ]),
    );
    await until(() => upstream.last.messages.length === 3);
    expect(upstream.last.messages).toEqual([Buffer.from('{"a":"ä"}'), Buffer.from([0, 0xff]), Buffer.alloc(0)]);
    const [answer] = [await codeAfter(socket, frame(CLOSE, closing(1000, 'done')))];
    expect(answer).toBe(1000);
    expect(await upstream.last.closed).toEqual([1000, 'done']);
  });

  it.each([
    ['another version (4.4)', OPENING.map((line) => line.replace('13', '12')), 400],
    ['no key (4.2.1)', OPENING.filter((line) => !line.includes('Key')), 400],
    ['a key that is too short (4.2.1)', OPENING.map((line) => line.replace(/(Key: ).*/, '$1YQ==')), 400],
  ])('is not opened with %s', async (_name, lines, least) => {
    const upstream = await startSocketUpstream();
    const proxy = await startProxy(upstream.url);
    const socket = await dial(proxy.port);
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(await received(socket))?.[1]);
    expect(status).toBeGreaterThanOrEqual(least);
    expect(status).toBeLessThan(500);
    await Promise.all(upstream.connections.map(({ closed }) => closed));
    expect(upstream.connections.flatMap(({ messages }) => messages)).toEqual([]);
  });
});
