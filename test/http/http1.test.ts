import { describe, expect, it } from 'vitest';
import { chatBody, contentAt, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { rebuild } from '../helpers/markers.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { dial, received, startRawServer } from '../helpers/wire.ts';

const LOG = serverLog(200);
const BODY = chatBody(oneResult(LOG)).toString('latin1');
const POST = 'POST /v1/chat/completions HTTP/1.1';
const HOST = 'Host: localhost';
const CLOSE = 'Connection: close';
const LENGTH = `Content-Length: ${BODY.length}`;

const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`;
const chunk = (text: string, extension = ''): string => `${text.length.toString(16)}${extension}\r\n${text}\r\n`;
const statuses = (text: string): string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status ?? '');

/** Sends bytes on a connection of their own; what comes back until it is enough, or until the server closes it. */
async function exchange(port: number, bytes: string, enough?: (text: string) => boolean): Promise<string> {
  const socket = await dial(port);
  socket.write(Buffer.from(bytes, 'latin1'));
  return received(socket, enough);
}

const chunked = 'Transfer-Encoding: chunked';
const half = BODY.length >> 1;
const [first, rest] = [BODY.slice(0, half), BODY.slice(half)];

const FORBIDDEN: readonly (readonly [name: string, bytes: string])[] = [
  ['a folded field (5.2)', head(POST, HOST, 'X-Long: a\r\n b', LENGTH) + BODY],
  ['a blank before the colon (5.1)', head(POST, 'Host : localhost', LENGTH) + BODY],
  ['a blank in a field name (5.1)', head(POST, HOST, 'X Field: a', LENGTH) + BODY],
  ['a NUL in a field (5.5)', head(POST, HOST, 'X-Field: a\0b', LENGTH) + BODY],
  ['a bare CR in a field (2.2)', head(POST, HOST, 'X-Field: a\rb: c', LENGTH) + BODY],
  ['both lengths (6.1)', head(POST, HOST, LENGTH, 'Transfer-Encoding: chunked') + chunk(BODY) + chunk('')],
  ['two lengths that differ (6.3)', head(POST, HOST, LENGTH, 'Content-Length: 1') + BODY],
  ['a length that is no number (6.2)', head(POST, HOST, 'Content-Length: +5') + BODY],
  ['a negative length (6.2)', head(POST, HOST, 'Content-Length: -1') + BODY],
  ['a last coding that is not chunked (6.3)', head(POST, HOST, 'Transfer-Encoding: chunked, gzip') + BODY],
  ['a chunk size that is no number (7.1)', `${head(POST, HOST, 'Transfer-Encoding: chunked')}zz\r\n${BODY}`],
  ['a chunk longer than its size (7.1)', `${head(POST, HOST, 'Transfer-Encoding: chunked')}3\r\nabcdef\r\n0\r\n\r\n`],
  ['no host (3.2)', head(POST, LENGTH) + BODY],
  ['two hosts (3.2)', head(POST, HOST, 'Host: other', LENGTH) + BODY],
  ['a method in lower case (3.1)', head('post /v1/chat/completions HTTP/1.1', HOST, LENGTH) + BODY],
  ['a blank in the target (3.2)', head('POST /v1/chat completions HTTP/1.1', HOST, LENGTH) + BODY],
  ['a version that does not exist (2.3)', head('POST /v1/chat/completions HTTP/1.x', HOST, LENGTH) + BODY],
  ['a field section of 100 KB', head(POST, HOST, `X-Field: ${'a'.repeat(100_000)}`, LENGTH) + BODY],
];

const ALLOWED: readonly (readonly [name: string, bytes: string])[] = [
  [
    'in chunks with extensions and trailers (7.1)',
    `${head(POST, HOST, CLOSE, chunked) + chunk(first, ';a=b') + chunk(rest, ';c="d"')}0\r\nX-Trailer: a\r\n\r\n`,
  ],
  ['with a coding in capitals (7)', `${head(POST, HOST, CLOSE, 'Transfer-Encoding: CHUNKED') + chunk(BODY)}0\r\n\r\n`],
  [
    'with a whole URL as its target (3.2.2)',
    head('POST http://elsewhere/v1/chat/completions HTTP/1.1', HOST, CLOSE, LENGTH) + BODY,
  ],
  ['with tabs and blanks around a value (5.1)', head(POST, HOST, CLOSE, 'X-Field:\t a \t', LENGTH) + BODY],
  ['with an empty field (5.1)', head(POST, HOST, CLOSE, 'X-Empty:', LENGTH) + BODY],
  ['behind an empty line (2.2)', `\r\n${head(POST, HOST, CLOSE, LENGTH)}${BODY}`],
  ['of HTTP/1.0', head('POST /v1/chat/completions HTTP/1.0', HOST, CLOSE, LENGTH) + BODY],
];

const ANSWERS: readonly (readonly [name: string, bytes: string, status: string, body: string])[] = [
  [
    'an early hint before it (15.2)',
    'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}',
    '200',
    '{}',
  ],
  ['nothing in it (204)', 'HTTP/1.1 204 No Content\r\n\r\n', '204', ''],
  ['a status without words', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}', '200', '{}'],
  ['a status that nobody knows', 'HTTP/1.1 599 Odd\r\nContent-Length: 2\r\n\r\n{}', '599', '{}'],
  ['an end with the connection', 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"a":1}', '200', '{"a":1}'],
  [
    'chunks with extensions',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\n{\r\n1\r\n}\r\n0\r\nX-T: 1\r\n\r\n',
    '200',
    '{}',
  ],
];

const BROKEN: readonly (readonly [name: string, bytes: string])[] = [
  ['both lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}'],
  ['no status line', '{}\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\n{}'],
];

describe('a message that RFC 9112 forbids', () => {
  it('is refused, and no part of it reaches the upstream', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    for (const [name, bytes] of FORBIDDEN) {
      const [status] = statuses(await exchange(proxy.port, bytes, (text) => text.includes('\r\n\r\n')));
      expect([name, status]).toEqual([name, expect.stringMatching(/^4\d\d$/)]);
    }
    expect(upstream.requests).toEqual([]);
    expect((await proxy.chat(BODY)).status).toBe(200);
  });
});

describe('a message that RFC 9112 allows', () => {
  it('is pruned and answered', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    for (const [name, bytes] of ALLOWED) {
      expect([name, statuses(await exchange(proxy.port, bytes))]).toEqual([name, ['200']]);
      expect([name, await rebuild(contentAt(upstream.last.body, -1), proxy)]).toEqual([name, LOG]);
      expect(upstream.last.rawHeaders.filter((field) => /^(?:host|content-length)$/i.test(field))).toHaveLength(2);
      expect(upstream.last.headers).not.toHaveProperty('transfer-encoding');
    }
    expect(upstream.requests).toHaveLength(ALLOWED.length);
  });

  it('gets no body in the answer to HEAD, and a closed connection after Connection: close', async () => {
    const proxy = await startProxy(await startUpstream());
    const text = await exchange(
      proxy.port,
      head('HEAD /health HTTP/1.1', HOST) + head('GET /health HTTP/1.1', HOST, CLOSE),
    );
    expect(statuses(text)).toEqual(['200', '200']);
    const [ofHead = ''] = text.split(/(?=HTTP\/1\.1 200)/);
    expect(ofHead.endsWith('\r\n\r\n')).toBe(true);
    expect(text).toMatch(/connection: close/i);
  });
});

describe('an answer of the upstream', () => {
  it('reaches the client if RFC 9110 and 9112 allow it', async () => {
    let answer = '';
    const proxy = await startProxy(await startRawServer((socket) => socket.end(answer)));
    for (const [name, bytes, status, body] of ANSWERS) {
      answer = bytes;
      const came = await proxy.chat(BODY);
      expect([name, String(came.status), await came.text()]).toEqual([name, status, body]);
    }
  });

  it('becomes a 502 if it is not valid HTTP', async () => {
    let answer = '';
    const proxy = await startProxy(await startRawServer((socket) => socket.end(answer)));
    for (const [name, bytes] of BROKEN) {
      answer = bytes;
      expect([name, (await proxy.chat(BODY)).status]).toEqual([name, 502]);
    }
  });
});
