import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { tempFolder } from '../helpers/afterwards.ts';
import { compiled } from '../helpers/built.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { type ServerProcess, startServerProcess } from '../helpers/server-process.ts';
import { send } from '../helpers/wire.ts';
import { zstdBomb } from '../helpers/zstd-frame.ts';

beforeAll(() => void compiled('cli.js'), 120_000);

const MB = 2 ** 20;
/** What docs/operate.md recommends for a container of 512 MB, and the memory that a replica then needs. */
const HEAP_MB = 256;
const REPLICA_MB = HEAP_MB + 150;

const isLong = process.env.MCP_PRUNER_TEST_LONG === 'true';
const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY, BROTLI_MAX_WINDOW_BITS } = constants;
const widest = { params: { [BROTLI_PARAM_LGWIN]: BROTLI_MAX_WINDOW_BITS, [BROTLI_PARAM_QUALITY]: 5 } };

type Encode = (bytes: number) => Buffer;
const encoders: ReadonlyMap<string, Encode> = new Map<string, Encode>([
  ['br', (bytes) => brotliCompressSync(Buffer.alloc(bytes, ' '), widest)],
  ['zstd', zstdBomb],
  ['gzip', (bytes) => gzipSync(Buffer.alloc(bytes, ' '), { level: 9 })],
  ['deflate', (bytes) => deflateSync(Buffer.alloc(bytes, ' '), { level: 9 })],
]);
const encodings = isLong ? [...encoders.keys()] : ['br', 'zstd', 'gzip'];

const paths = isLong
  ? ['messages', 'responses', 'chat/completions', 'messages/count_tokens', 'models/m:generateContent']
  : ['messages', 'chat/completions'];
/** Decoded sizes: a little above what is always read, and what the wires with a checked history read at most. Eight of 96 MiB are twice a replica's memory. */
const sizes = isLong ? [8 * MB, 9 * MB, 64 * MB, 240 * MB] : [96 * MB];
const concurrencies = isLong ? [1, 4, 30] : [8];
/** Every combination of decoded size, wire and number of simultaneous requests. */
const casesOf = (encode: Encode) =>
  sizes.flatMap((size) => {
    const bomb = encode(size);
    return paths.flatMap((path) => concurrencies.map((count) => ({ bomb, path, count, title: `${size} x ${count}` })));
  });

/** A server with the heap of a small container, in front of an upstream whose answers can be set to a bomb. */
async function startSmall(encoding: string) {
  const answering: { bomb: Buffer | null } = { bomb: null };
  const upstream = await startUpstream((_request, res) => {
    if (answering.bomb === null) return json(res, 200, {});
    res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': encoding }).end(answering.bomb);
  });
  const server = await startServerProcess({
    env: {
      MCP_PRUNER_UPSTREAM_URL: upstream.url,
      MCP_PRUNER_ANTHROPIC_URL: upstream.url,
      MCP_PRUNER_GEMINI_URL: upstream.url.replace('/v1', '/v1beta'),
      MCP_PRUNER_DB_PATH: `${tempFolder()}/store.db`,
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    },
  });
  return { upstream, server, answering };
}

/** Why requests were not forwarded as they came, and how often. */
function reasonsIn(log: string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [, codes = ''] of log.matchAll(/"fallbacks":\[([^\]]+)\]/g)) counts[codes] = (counts[codes] ?? 0) + 1;
  return counts;
}

/** The largest resident memory since the last call, in MB. */
function peakMb({ child }: ServerProcess): number {
  const [, kb = ''] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
  return Number(kb) / 1024;
}

function urlOf(server: ServerProcess, path: string): string {
  return `${server.url}/${path.includes('generateContent') ? 'v1beta' : 'v1'}/${path}`;
}

const PLAIN = Buffer.from(
  JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hello' }] }),
);

describe.skipIf(process.platform !== 'linux')('a proxy with the heap of a small container', () => {
  it.each(encodings)(
    'forwards requests and passes on answers of %s, whatever they decode to, within its memory',
    async (encoding) => {
      const { upstream, server, answering } = await startSmall(encoding);
      const sendAll = (path: string, count: number, body: Buffer, more: Record<string, string> = {}) => {
        const headers = { 'content-type': 'application/json', ...more };
        return Promise.all(
          Array.from({ length: count }, () => send(urlOf(server, path), { method: 'POST', headers, body })),
        );
      };
      for (const { bomb, path, count, title } of casesOf(encoders.get(encoding) ?? Buffer.alloc)) {
        answering.bomb = null;
        const answers = await sendAll(path, count, bomb, { 'content-encoding': encoding });
        const refused = answers.filter(({ status }) => status !== 200).map(({ status, body }) => `${status} ${body}`);
        expect(refused, `${title} to ${path}: ${JSON.stringify(reasonsIn(server.log))}`).toEqual([]);
        const forwarded = upstream.requests.splice(0).filter(({ body }) => body.equals(bomb));
        expect(forwarded, `${title} to ${path}`).toHaveLength(count);
        expect(peakMb(server), `${title} to ${path}`).toBeLessThan(REPLICA_MB);

        answering.bomb = bomb;
        for (const { status, body } of await sendAll(path, count, PLAIN))
          expect([status, body.equals(bomb)], `${title} from ${path}`).toEqual([200, true]);
        upstream.requests.length = 0;
        expect(peakMb(server), `${title} from ${path}`).toBeLessThan(REPLICA_MB);
      }
    },
    1_200_000,
  );
});
