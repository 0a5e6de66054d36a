import { readFileSync } from 'node:fs';
import type { Transform } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { AnswerDecoder } from '../../src/proxy/answer-decoder.ts';
import { ByteBudget } from '../../src/proxy/byte-budget.ts';
import { BodyDecoder, type EncodedBody } from '../../src/proxy/decode-body.ts';
import { zstdStream } from '../../src/proxy/zstd.ts';
import { chatBody, contentAt, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { rebuild } from '../helpers/markers.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { send } from '../helpers/wire.ts';
import { zstdBomb, zstdStored } from '../helpers/zstd-frame.ts';

const MB = 2 ** 20;
const GB = 2 ** 30;
const FAST = { level: 1 };
const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** Writes a whole body to a decoder, until it ends or has decoded enough. */
async function decoded(open: () => Transform, body: Buffer, maxBytes = 4_000_000): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  const stream = open();
  stream.end(body);
  for await (const piece of stream as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > maxBytes) break;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** A budget that records how many bytes were taken at most, and are still taken. */
class WatchedBudget {
  readonly #budget: ByteBudget;
  now = 0;
  most = 0;
  waiting = 0;

  constructor(maxBytes: number) {
    this.#budget = new ByteBudget(maxBytes);
  }

  async take(bytes: number, waitMs: number, holder?: string): Promise<(() => void) | null> {
    this.waiting++;
    const release = await this.#budget.take(bytes, waitMs, holder);
    this.waiting--;
    return this.#counted(bytes, release);
  }

  tryTake(bytes: number, holder?: string): (() => void) | null {
    return this.#counted(bytes, this.#budget.tryTake(bytes, holder));
  }

  #counted(bytes: number, release: (() => void) | null): (() => void) | null {
    if (release === null) return null;
    this.now += bytes;
    this.most = Math.max(this.most, this.now);
    return () => {
      this.now -= bytes;
      release();
    };
  }
}

function bodyDecoder({ received: receivedBytes = 64 * MB, large: largeBytes = 64 * MB } = {}) {
  const [received, largeBodies] = [new WatchedBudget(receivedBytes), new WatchedBudget(largeBytes)];
  const decoder = new BodyDecoder({ received, largeBodies });
  const decode = (encoding: string, body: Buffer, over: Partial<EncodedBody> = {}) =>
    decoder.decode({ request: {}, body, encoding, maxBytes: 256 * MB, ...over });
  return { received, largeBodies, decode };
}

const lines = serverLog(20_000);
const longText = Buffer.from(lines.repeat(Math.ceil((20 * MB) / lines.length)));

/** A text of so many bytes, at most 20 MiB, that compresses to about a tenth, as conversations do. Shared: never written to. */
function conversationText(bytes: number): Buffer {
  return longText.subarray(0, bytes);
}

/** What Codex sent, and what that is. */
function recorded(name: string): { readonly sent: Buffer; readonly meant: Buffer } {
  const file = (end: string): Buffer =>
    readFileSync(new URL(`../fixtures/wires/codex-compressed/${name}.request.${end}`, import.meta.url));
  return { sent: file('zst'), meant: gunzipSync(file('json.gz')) };
}

describe.each([
  ['in JavaScript', (body: Buffer) => zstdStream(body, 'whole', null)],
  ['as this Node does it', (body: Buffer) => zstdStream(body, 'whole')],
])('zstd %s', (_name, open) => {
  const decode = (body: Buffer, maxBytes?: number) => decoded(() => open(body), body, maxBytes);

  it.each(['017', '021'])('decodes bodies that Codex sent (%s)', async (name) => {
    const { sent, meant } = recorded(name);
    expect((await decode(sent)).equals(meant)).toBe(true);
  });

  it('decodes uncompressed bytes of any length', async () => {
    for (const length of [0, 1, 2, 3, 131_072, 131_073, 400_000]) {
      const bytes = Buffer.alloc(length, 'héllo');
      expect((await decode(zstdStored(bytes))).equals(bytes)).toBe(true);
    }
  });

  it('refuses a truncated frame, wherever it ends', async () => {
    const { sent } = recorded('017');
    for (const end of [0, 1, 4, 5, 6, 8, 100, sent.length - 100, sent.length - 1]) {
      await expect(decode(sent.subarray(0, end)), `${end}`).rejects.toThrow();
    }
  });

  it('ends with a result or an error, whatever the bytes', async () => {
    const { sent } = recorded('017');
    const broken = fc.tuple(fc.nat(sent.length - 1), fc.nat(255), fc.nat(sent.length));
    await fc.assert(
      fc.asyncProperty(broken, async ([at, byte, end]) => {
        const bytes = Buffer.from(sent.subarray(0, Math.max(end, at + 1)));
        bytes[at] = byte;
        const size = await decode(bytes, 100_000).then(
          ({ length }) => length,
          (cause: unknown) => cause,
        );
        expect(size instanceof Error || typeof size === 'number').toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('refuses a window that is too large, a dictionary, and a second frame', async () => {
    const head = (descriptor: number, ...more: number[]) =>
      Buffer.from([0x28, 0xb5, 0x2f, 0xfd, descriptor, ...more, 1, 0, 0]);
    const window = (descriptor: number) => head(0, descriptor);
    await expect(decode(window(0xa0))).rejects.toThrow('too large'); // 1 GiB
    expect(await decode(window(0x68))).toHaveLength(0); // 8 MiB
    await expect(decode(head(1, 0, 7))).rejects.toThrow('dictionary');
    const two = Buffer.concat([zstdStored(Buffer.from('a')), zstdStored(Buffer.from('b'))]);
    await expect(decode(two)).rejects.toThrow('expected exactly one complete frame');
  });
});

describe('zstd in JavaScript', () => {
  it('gives up after its CPU time, and lets other work run meanwhile', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const bomb = zstdBomb(8 * GB, { slow: true });
    await expect(decoded(() => zstdStream(bomb, 'whole', null), bomb)).rejects.toThrow('too long');
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0); // a starved machine gets through few blocks in that time
  });

  it('lets other work run while eight answers are decoded at once', async () => {
    let sizes = 0;
    const bomb = zstdBomb(16 * MB);
    const streams = Array.from({ length: 8 }, () => {
      const stream = zstdStream(bomb, 'partial', null).on('data', ({ length }: Buffer) => (sizes += length));
      stream.end(bomb);
      return stream;
    });
    const [first] = streams;
    let most = 0;
    for (let before = 0; first && !first.readableEnded; before = sizes) {
      await nextTurn();
      most = Math.max(most, sizes - before);
    }
    expect(sizes).toBeGreaterThan(16 * MB);
    expect(most).toBeLessThan(sizes / 4); // all of them in one turn of the event loop, were it not for time slices
  });
});

describe('the decoder of request bodies', () => {
  const encoders: readonly (readonly [string, (bytes: Buffer) => Buffer, largest: number])[] = [
    ['zstd', zstdStored, 9 * MB],
    ['gzip', (bytes) => gzipSync(bytes, FAST), 9 * MB],
    ['x-gzip', gzipSync, 100],
    ['deflate', (bytes) => deflateSync(bytes, FAST), 9 * MB],
    ['deflate', deflateRawSync, 100],
    ['br', (bytes) => brotliCompressSync(bytes, QUICK), 9 * MB],
    [' GZIP ', gzipSync, 100],
    ['identity', (bytes) => bytes, 9 * MB],
    ['', (bytes) => bytes, 9 * MB],
  ];

  it.each(encoders)(
    'takes memory for decoded bytes until they are released: "%s"',
    async (encoding, encode, largest) => {
      const { received, largeBodies, decode } = bodyDecoder();
      for (const bytes of [0, 1, largest]) {
        const text = conversationText(bytes);
        const encoded = encode(text);
        const result = await decode(encoding, encoded);
        if (result.kind !== 'plain') throw new Error(result.reason);
        expect(result.body.equals(text)).toBe(true);
        if (encoded !== text) expect(received.now + largeBodies.now).toBeGreaterThanOrEqual(bytes);
        result.release();
        expect([received.now, largeBodies.now]).toEqual([0, 0]);
      }
    },
  );

  it.each(['gzip', 'deflate', 'br', 'zstd', 'compress'])(
    'refuses broken bytes, and keeps no memory: %s',
    async (name) => {
      const { received, largeBodies, decode } = bodyDecoder();
      const encode = encoders.find(([encoding]) => encoding === name)?.[1] ?? gzipSync;
      const whole = encode(conversationText(9 * MB));
      for (const bytes of [Buffer.from('no such thing'), whole.subarray(0, -20), Buffer.alloc(0)]) {
        expect(await decode(name, bytes)).toMatchObject({ kind: 'unread', reason: 'encoding_not_understood' });
        expect([received.now, largeBodies.now]).toEqual([0, 0]);
      }
    },
  );

  it('gives a text without memory to grow in the memory of large bodies, one after the other', async () => {
    const { received, largeBodies, decode } = bodyDecoder({ received: 2 * MB, large: 6 * MB });
    const text = conversationText(5 * MB);
    const encoded = gzipSync(text, FAST);
    const order: string[] = [];
    await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const result = await decode('gzip', encoded);
        if (result.kind !== 'plain') throw new Error(result.reason);
        order.push(name);
        expect(result.body.equals(text)).toBe(true);
        await nextTurn();
        result.release();
      }),
    );
    expect(order).toHaveLength(3);
    expect(largeBodies.most).toBe(text.length);
    expect(received.most).toBeLessThanOrEqual(2 * MB);
  });

  it('leaves half of the memory to other keys', async () => {
    const { received, decode } = bodyDecoder({ received: 16 * MB });
    const encoded = gzipSync(conversationText(5 * MB), FAST);
    const greedy = await Promise.all([1, 2, 3].map(() => decode('gzip', encoded, { holder: 'greedy' })));
    expect(received.now).toBe(5 * MB); // the others are in the memory of large bodies
    expect(await decode('gzip', encoded, { holder: 'modest' })).toMatchObject({ kind: 'plain' });
    expect(greedy.map(({ kind }) => kind)).toEqual(['plain', 'plain', 'plain']);
    expect(received.now).toBe(10 * MB);
  });

  it('reads repetitive texts of the largest contexts, and beyond them up to a hundred times their size', async () => {
    const { decode } = bodyDecoder();
    const spaces = (bytes: number): Buffer => gzipSync(Buffer.alloc(bytes, ' '), { level: 9 });
    expect(await decode('gzip', spaces(8 * MB))).toMatchObject({ kind: 'plain' });
    expect(await decode('gzip', spaces(9 * MB))).toMatchObject({ kind: 'unread' });
    const text = conversationText(20 * MB);
    const encoded = gzipSync(text, FAST);
    expect(text.length / encoded.length).toBeLessThan(100);
    expect(await decode('gzip', encoded)).toMatchObject({ kind: 'plain' });
    expect(await decode('gzip', encoded, { maxBytes: 19 * MB })).toMatchObject({ kind: 'unread' });
  });
});

describe('a body without memory', () => {
  it.each([
    ['', false],
    ['"role": "assistant"', true],
    ['"type": "function_call"', true],
    ['"previous_response_id": "1"', true],
  ])('says whether a model may have answered in it: %s', async (sign, mayBeAnswered) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { received, largeBodies, decode } = bodyDecoder();
      await Promise.all([received.take(64 * MB, 0), largeBodies.take(64 * MB, 0)]);
      // wherever the sign lies between two slices of the decoder
      for (const at of sign === '' ? [0] : [0, 256 * 1024 - 5, 3 * MB]) {
        const text = Buffer.from(conversationText(4 * MB));
        text.write(sign, at);
        const result = decode('gzip', gzipSync(text, FAST));
        await vi.waitFor(() => expect(received.waiting + largeBodies.waiting).toBe(1), { timeout: 30_000 });
        vi.advanceTimersByTime(30_000);
        expect(await result).toEqual({ kind: 'unread', reason: 'overloaded', mayBeAnswered });
      }
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('the windows of answers', () => {
  const TEXT = conversationText(200_000);
  /** The window's size is in the first bits of a text. */
  const encodedWith = (bits: number): Buffer =>
    brotliCompressSync(TEXT, { params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: bits } });

  function open(encoding: string, windows: WatchedBudget) {
    const pieces: Buffer[] = [];
    const decoder = new AnswerDecoder(encoding, (piece) => pieces.push(Buffer.from(piece)), windows);
    return { decoder, decoded: () => Buffer.concat(pieces) };
  }

  it.each<readonly [string, Buffer, number]>([
    ...[10, 15, 16, 17, 18, 22, 24].map((bits) => ['br', encodedWith(bits), 2 ** bits] as const),
    ['zstd', zstdStored(TEXT), 2 * MB],
    ['gzip', gzipSync(TEXT), 64 * 1024],
  ])('take memory until the answer has ended: %s', async (encoding, encoded, window) => {
    const windows = new WatchedBudget(64 * MB);
    const { decoder, decoded } = open(encoding, windows);
    decoder.data(encoded);
    await decoder.end();
    expect([windows.most, windows.now, decoder.isUnread]).toEqual([window, 0, false]);
    expect(decoded().equals(TEXT)).toBe(true);
  });

  it('are opened later if there is no memory, and all answers are read', async () => {
    const windows = new WatchedBudget(32 * MB);
    const encoded = encodedWith(24);
    const answers = Array.from({ length: 9 }, () => open('br', windows));
    for (let at = 0; at < encoded.length; at += 9_000) {
      for (const { decoder } of answers) decoder.data(encoded.subarray(at, at + 9_000));
    }
    await Promise.all(answers.map(({ decoder }) => decoder.end()));
    for (const { decoder, decoded } of answers)
      expect([decoder.isUnread, decoded().equals(TEXT)]).toEqual([false, true]);
    expect([windows.most, windows.now]).toEqual([32 * MB, 0]);
  });

  it('are given up if no memory becomes free, or if too much waits', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const windows = new WatchedBudget(16 * MB);
      const release = await windows.take(16 * MB, 0);
      const [short, long] = [open('br', windows), open('br', windows)];
      short.decoder.data(encodedWith(24));
      for (let i = 0; i < 20; i++) long.decoder.data(Buffer.alloc(64 * 1024, 0x0f));
      expect([short.decoder.isUnread, long.decoder.isUnread]).toEqual([false, true]);
      const ended = Promise.all([short.decoder.end(), long.decoder.end()]);
      vi.advanceTimersByTime(30_000);
      await ended;
      expect(short.decoder.isUnread).toBe(true);
      release?.();
      expect(windows.now).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('do not keep the memory of a broken answer', async () => {
    const windows = new WatchedBudget(64 * MB);
    const encoded = encodedWith(24).fill(0xff, 5_000);
    const { decoder } = open('br', windows);
    decoder.data(encoded);
    await decoder.end();
    expect([windows.now, decoder.isUnread]).toEqual([0, true]);
  });
});

describe('a decompression bomb', () => {
  const spaces = Buffer.alloc(64 * MB, ' ');
  const bombs: readonly (readonly [string, string, Buffer])[] = [
    ['zstd', 'zstd', zstdBomb(2 * GB)],
    ['zstd that declares its size', 'zstd', zstdBomb(2 * GB, { isDeclared: true })],
    ['gzip', 'gzip', gzipSync(spaces, FAST)],
    ['deflate', 'deflate', deflateSync(spaces, FAST)],
    ['br', 'br', brotliCompressSync(spaces, QUICK)],
  ];

  it.each(bombs)('in a request is dropped with its memory: %s', async (_name, encoding, bomb) => {
    const { received, largeBodies, decode } = bodyDecoder();
    const results = await Promise.all(Array.from({ length: 8 }, () => decode(encoding, bomb.subarray())));
    expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['unread']));
    expect(received.most).toBeLessThanOrEqual(2 * 8 * MB); // two at once
    expect([received.now, largeBodies.most]).toEqual([0, 0]);
  });

  it.each(bombs)('in an answer is read only to a hundred times its size: %s', async (_name, encoding, bomb) => {
    let size = 0;
    const decoder = new AnswerDecoder(encoding, ({ length }) => {
      size += length;
    });
    for (let at = 0; at < bomb.length; at += 64_000) decoder.data(bomb.subarray(at, at + 64_000));
    await decoder.end();
    expect(size).toBeGreaterThan(8 * MB);
    expect(size).toBeLessThanOrEqual(Math.max(16 * MB, 100 * bomb.length));
  });

  it('is forwarded unchanged, and counted', async () => {
    const upstream = await startUpstream((_request, res) => res.end('{}'));
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_MAX_BODY_BYTES: '2000000' } });
    const bomb = zstdBomb(10 * GB);
    const headers = { 'content-encoding': 'zstd', 'content-type': 'application/json' };
    const answer = await send(`${proxy.url}/v1/chat/completions`, { method: 'POST', headers, body: bomb });
    expect(answer.status).toBe(200);
    expect(upstream.last.body.equals(bomb)).toBe(true);
    expect(upstream.last.headers['content-encoding']).toBe('zstd');
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ fallbacks: ['encoding_not_understood'] });
  });
});

describe('a zstd request', () => {
  const LOG = serverLog(300);

  it('that Codex sent with a ChatGPT login is pruned and forwarded as plain JSON', async () => {
    const upstream = await startUpstream((_request, res) => res.end('{}'));
    const proxy = await startProxy(upstream);
    const { sent, meant } = recorded('021');
    const headers = { 'content-encoding': 'zstd', 'content-type': 'application/json' };
    await send(`${proxy.url}/v1/responses`, { method: 'POST', headers, body: sent });
    const { body, headers: forwarded } = upstream.last;
    expect(forwarded['content-encoding']).toBeUndefined();
    expect(body.length).toBeLessThan(meant.length - 10_000);
    expect(body.toString()).toContain('⟦PRUNÉ:');
    const shape = (bytes: Buffer): object => ({ ...JSON.parse(bytes.toString('utf8')), input: null });
    expect(shape(body)).toEqual(shape(meant));
  });

  it('has the same cuts when pruning is off for it', async () => {
    const upstream = await startUpstream((_request, res) => res.end('{}'));
    const proxy = await startProxy(upstream);
    const { sent } = recorded('021');
    const headers = { 'content-encoding': 'zstd', 'content-type': 'application/json' };
    for (const more of [{}, { 'x-mcp-pruner': 'off' }]) {
      await send(`${proxy.url}/v1/responses`, { method: 'POST', headers: { ...headers, ...more }, body: sent });
    }
    const [first, second] = upstream.requests;
    expect(first?.body.toString()).toContain('⟦PRUNÉ:');
    expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
  });

  it('is pruned and forwarded as plain JSON', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    await (await proxy.chat(zstdStored(chatBody(oneResult(LOG))), { 'content-encoding': 'zstd' })).text();
    expect(upstream.last.headers['content-encoding']).toBeUndefined();
    expect(await rebuild(contentAt(upstream.last.body, -1), proxy)).toBe(LOG);
  });

  it('is forwarded unchanged if there is nothing to prune', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const bytes = zstdStored(chatBody(oneResult('short')));
    await (await proxy.chat(bytes, { 'content-encoding': 'zstd' })).text();
    expect(upstream.last.headers['content-encoding']).toBe('zstd');
    expect(upstream.last.body.equals(bytes)).toBe(true);
  });
});
