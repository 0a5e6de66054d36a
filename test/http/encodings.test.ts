import { readFileSync } from 'node:fs';
import { brotliCompressSync, constants, deflateSync, gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBody } from '../../src/proxy/decode-body.ts';
import { unzstd, unzstdInTurns } from '../../src/proxy/zstd.ts';
import { chatBody, contentAt, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { rebuild } from '../helpers/markers.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { send } from '../helpers/wire.ts';
import { zstdBomb, zstdStored } from '../helpers/zstd-frame.ts';

const LIMITS = { maxBytes: 4_000_000, cpuMs: 10_000 };
const MB = 2 ** 20;
const GB = 2 ** 30;
const QUICK = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** What Codex sent, and what that is. */
function recorded(name: string): { readonly sent: Buffer; readonly meant: Buffer } {
  const file = (end: string): Buffer =>
    readFileSync(new URL(`../fixtures/wires/codex-compressed/${name}.request.${end}`, import.meta.url));
  return { sent: file('zst'), meant: gunzipSync(file('json.gz')) };
}

describe.each([
  ['in JavaScript', unzstdInTurns],
  ['as this Node does it', unzstd],
])('zstd %s', (_name, decode) => {
  it.each(['017', '021'])('decodes bodies that Codex sent (%s)', async (name) => {
    const { sent, meant } = recorded(name);
    expect((await decode(sent, LIMITS)).equals(meant)).toBe(true);
  });

  it('decodes uncompressed bytes of any length', async () => {
    for (const length of [0, 1, 2, 3, 131_072, 131_073, 400_000]) {
      const bytes = Buffer.alloc(length, 'héllo');
      expect((await decode(zstdStored(bytes), LIMITS)).equals(bytes)).toBe(true);
    }
  });

  it('refuses a truncated frame, wherever it ends', async () => {
    const { sent } = recorded('017');
    for (const end of [0, 1, 4, 5, 6, 8, 100, sent.length - 100, sent.length - 1]) {
      await expect(decode(sent.subarray(0, end), LIMITS), `${end}`).rejects.toThrow();
    }
  });

  it('never returns more than the limit, whatever the bytes', async () => {
    const { sent } = recorded('017');
    const broken = fc.tuple(fc.nat(sent.length - 1), fc.nat(255), fc.nat(sent.length));
    await fc.assert(
      fc.asyncProperty(broken, async ([at, byte, end]) => {
        const bytes = Buffer.from(sent.subarray(0, Math.max(end, at + 1)));
        bytes[at] = byte;
        const decoded = await decode(bytes, { maxBytes: 100_000, cpuMs: 10_000 }).catch(() => null);
        expect(decoded?.length ?? 0).toBeLessThanOrEqual(100_000);
      }),
      { numRuns: 60 },
    );
  });
});

describe('zstd in JavaScript', () => {
  it('refuses a window that is too large, a dictionary, and a second frame', async () => {
    const head = (descriptor: number, ...more: number[]) =>
      Buffer.from([0x28, 0xb5, 0x2f, 0xfd, descriptor, ...more, 1, 0, 0]);
    const window = (descriptor: number) => head(0, descriptor);
    await expect(unzstdInTurns(window(0xa0), LIMITS)).rejects.toThrow('too large'); // 1 GiB
    expect(await unzstdInTurns(window(0x68), LIMITS)).toHaveLength(0); // 8 MiB
    await expect(unzstdInTurns(head(1, 0, 7), LIMITS)).rejects.toThrow('dictionary');
    const two = Buffer.concat([zstdStored(Buffer.from('a')), zstdStored(Buffer.from('b'))]);
    await expect(unzstdInTurns(two, LIMITS)).rejects.toThrow('expected exactly one complete frame');
  });

  it('stops at its time limit, and yields to other work meanwhile', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const slow = unzstdInTurns(zstdBomb(GB, { slow: true }), { maxBytes: GB, cpuMs: 500 });
    await expect(slow).rejects.toThrow('too long');
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0); // a starved machine gets through few blocks in that time
  });
});

describe('a decompression bomb', () => {
  it.each([
    ['zstd', 'zstd', () => zstdBomb(10 * GB)],
    ['zstd that says so', 'zstd', () => zstdBomb(10 * GB, { isDeclared: true })],
    ['gzip', 'gzip', () => gzipSync(Buffer.alloc(64 * MB, ' '), { level: 1 })],
    ['deflate', 'deflate', () => deflateSync(Buffer.alloc(64 * MB, ' '), { level: 1 })],
    ['br', 'br', () => brotliCompressSync(Buffer.alloc(64 * MB, ' '), QUICK)],
  ])('in %s is not decoded beyond the limit', async (_name, encoding, make) => {
    const bomb = make();
    expect(bomb.length).toBeLessThan(700_000);
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().arrayBuffers);
    }, 1);
    expect(await decodeBody(bomb, encoding, 4_000_000)).toBeNull();
    clearInterval(watch);
    expect(Math.max(most, process.memoryUsage().arrayBuffers) - before).toBeLessThan(40_000_000);
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
