import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasDotSegments } from '../../src/proxy/upstream/destinations.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { until } from '../helpers/until.ts';
import { dial, send } from '../helpers/wire.ts';

const dot = fc.constantFrom('.', '%2e', '%2E', '%252e', '%252E');
const dots = fc.oneof(
  dot,
  fc.tuple(dot, dot).map((two) => two.join('')),
);
const slash = fc.constantFrom('/', '\\', '%2f', '%2F', '%5c', '%5C', '%252F');
const parameters = fc.constantFrom('', ';', ';a=1', '%3b', '%3Bx');
/** Names that only look like dot segments, and ordinary ones. */
const name = fc.constantFrom(
  'models',
  'a..b',
  '...',
  '..a',
  'a.',
  '.hidden',
  'v1.5',
  'us.model-v1%3A0',
  'a%2eb',
  '%20',
);
const query = fc.constantFrom('', '?', '?path=../..', '?a=%2e%2e%2f&b=/./');
const below = (first: string, names: readonly string[]): string => [first, ...names].join('/');

describe('a dot segment', () => {
  it('is found anywhere in a path, in every spelling', () => {
    const path = fc.tuple(fc.array(name), slash, dots, parameters, fc.array(name), query);
    fc.assert(
      fc.property(path, ([before, separator, segment, after, rest, asked]) => {
        const url = `${below('/v1', before)}${separator}${segment}${after}${below('', rest)}${asked}`;
        expect(hasDotSegments(url)).toBe(true);
      }),
    );
  });

  it('is not found in names with dots, nor in a query', () => {
    fc.assert(
      fc.property(fc.array(name), query, (names, asked) => {
        expect(hasDotSegments(below('/v1', names) + asked)).toBe(false);
      }),
    );
  });
});

/** A dot whose escape is escaped again and again, in a way that is not undone in one step. */
function layers(count: number): string {
  return count === 0 ? '%2e' : layers(count - 1).replaceAll('%', '%2%35');
}

describe('a dot segment in disguise', () => {
  it.each([
    ['with its escape escaped digit by digit', '/v1/%25%32%65%25%32%65/admin'],
    ['escaped seven times', '/v1/%2525252525252e%2525252525252e/admin'],
    ['with a NUL behind it', '/v1/..%00/admin'],
    ['with a blank behind it', '/v1/..%20/admin'],
    ['with an escaped query behind it', '/v1/..%3fx'],
    ['in overlong UTF-8', '/v1/%c0%ae%C0%AE/admin'],
    ['behind an overlong slash', '/v1/x%c0%af..'],
    ['under more layers than anybody unescapes', `/v1/${layers(10)}/admin`],
  ])('is found %s', (_, url) => {
    expect(hasDotSegments(url)).toBe(true);
  });
});

describe('a path with a dot segment', () => {
  const spellings = ['..', '.', '%2e%2e', '%2E.', '..\\x', '..%2fx', '..;', '.%2e;a=1', '%252e%252e'];

  it.each(['/v1/files', '/v1/messages/batches', '/v1beta/models', '/v1/models/m:generateContent', '/v1'])(
    'below %s is refused with 400 and reaches no provider, with the proxy’s own key or without',
    async (root) => {
      const upstream = await startUpstream();
      const env = { MCP_PRUNER_UPSTREAM_API_KEY: 'sk-own', MCP_PRUNER_GEMINI_URL: upstream.url };
      const proxy = await startProxy(upstream, { env });
      for (const spelling of spellings) {
        for (const path of [`${root}/${spelling}/chat/completions`, `${root}/x/${spelling}`]) {
          const answer = await send(proxy.url, { method: 'POST', path, body: '{}' });
          expect([path, answer.status]).toEqual([path, 400]);
          expect(answer.body.toString()).toContain('dot_segments');
        }
      }
      expect(upstream.requests).toHaveLength(0);
      const names = `${root}/a..b/.../.x?path=../..`;
      expect((await send(proxy.url, { path: names })).status).toBe(200);
      expect(upstream.last.url).toMatch(/\/a\.\.b\/\.\.\.\/\.x\?path=\.\.\/\.\.$/);
    },
  );

  it('is refused for a WebSocket as well', async () => {
    const proxy = await startProxy(await startUpstream());
    const socket = await dial(proxy.port);
    let answer = '';
    socket.on('data', (piece: Buffer) => {
      answer += piece.toString();
    });
    const fields = 'host: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13';
    socket.write(`GET /v1/x/../responses HTTP/1.1\r\n${fields}\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
    expect(await until(() => answer.includes('\r\n\r\n') && answer)).toMatch(/^HTTP\/1\.1 400/);
  });
});
