import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  type BrotliCompress,
  createBrotliCompress,
  createDeflate,
  createDeflateRaw,
  createGzip,
  type Gzip,
  gzipSync,
} from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerDecoder } from '../../src/proxy/answer-decoder.ts';
import { AnswerTap } from '../../src/proxy/report/answer-tap.ts';
import { BoundedJson } from '../../src/wires/dialects/answers/bounded-json.ts';
import { AnswerReader } from '../../src/wires/dialects/answers/reader.ts';
import type { Answer } from '../../src/wires/dialects/dialect.ts';
import { until } from '../helpers/until.ts';
import { zstdStored } from '../helpers/zstd-frame.ts';
import { type AnswerCase, CASES, dataOf } from './cases.ts';

function inPieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => bytes.subarray(from, places[i] ?? bytes.length));
}

/** Reads an answer, as it arrives in some pieces. */
function read(pieces: readonly Buffer[]): Answer {
  const reader = new AnswerReader();
  for (const piece of pieces) reader.data(piece);
  return reader.end();
}

function expectReported(answer: Answer, { usage, error, id, calls = {}, prefixMismatches = 0 }: AnswerCase): void {
  expect(answer.error).toBe(error ?? null);
  if (usage === null) expect(answer.usage).toBeNull();
  else
    expect(answer.usage).toEqual({
      cachedTokens: null,
      ...(answer.usage?.reasoningTokens === 0 && { reasoningTokens: 0 }),
      ...usage,
    });
  expect(answer.reports.prefixMismatches).toBe(prefixMismatches);
  if (id !== undefined) expect(answer.turn.id).toBe(id);
  if (Object.keys(calls).length > 0) expect(Object.fromEntries(answer.turn.calls)).toEqual(calls);
}

const cuts = fc.array(fc.nat(), { maxLength: 40 });
const named = CASES.map((one) => [`${one.dialect.name}: ${one.name}`, one] as const);
const streamed = named.filter(([, { bytes }]) => /^(?:data|event):/.test(bytes.toString('latin1', 0, 6)));

/** Compresses bytes as a server does that sends everything at once and never ends the stream. */
async function unfinished(compress: Gzip | BrotliCompress, bytes: Buffer): Promise<Buffer> {
  const pieces: Buffer[] = [];
  compress.on('data', (piece: Buffer) => pieces.push(piece));
  compress.write(bytes);
  await new Promise<void>((resolve) => compress.flush(resolve));
  if (pieces.length === 0) await once(compress, 'data');
  return Buffer.concat(pieces);
}

const ENCODINGS: readonly (readonly [string, (bytes: Buffer) => Buffer | Promise<Buffer>])[] = [
  ['', (bytes) => bytes],
  ['identity', (bytes) => bytes],
  ['gzip', (bytes) => unfinished(createGzip(), bytes)],
  ['x-gzip', (bytes) => unfinished(createGzip(), bytes)],
  ['deflate', (bytes) => unfinished(createDeflate(), bytes)],
  ['deflate', (bytes) => unfinished(createDeflateRaw(), bytes)],
  ['br', (bytes) => unfinished(createBrotliCompress(), bytes)],
  ['zstd', zstdStored],
];

describe('the reader of answers', () => {
  it.each(named)('reports the same figures wherever the bytes are split: %s', (_name, answer) => {
    expectReported(read([answer.bytes]), answer);
    const whole = read([answer.bytes]);
    fc.assert(
      fc.property(cuts, (places) => {
        expect(read(inPieces(answer.bytes, places))).toEqual(whole);
      }),
      { numRuns: 20 },
    );
    if (answer.bytes.length < 3_000) expect(read(inPieces(answer.bytes, [...answer.bytes.keys()]))).toEqual(whole);
  });

  it.each(streamed)('accepts every kind of line ending, comments and a byte order mark: %s', (_name, answer) => {
    const text = answer.bytes.toString('latin1');
    const forms = fc.record({ end: fc.constantFrom('\n', '\r', '\r\n'), mark: fc.boolean(), comments: fc.boolean() });
    fc.assert(
      fc.property(forms, cuts, ({ end, mark, comments }, places) => {
        const commented = comments
          ? text.replaceAll(/^(?=data|event)/gm, ': keep-alive "usage":{"prompt_tokens":5}\n')
          : text;
        const bytes = Buffer.from((mark ? '\xef\xbb\xbf' : '') + commented.replaceAll('\n', end), 'latin1');
        expectReported(read(inPieces(bytes, places)), answer);
      }),
      { numRuns: 20 },
    );
  });

  it('joins the lines of an event', () => {
    const event = JSON.stringify({ usage: { prompt_tokens: 3, completion_tokens: 1 } }, null, 2);
    const bytes = Buffer.from(`data: ${event.replaceAll('\n', '\ndata: ')}\n\n`);
    expect(read([bytes]).usage).toMatchObject({ promptTokens: 3, completionTokens: 1 });
  });

  it('measures only the text of a stream without usage, including escapes', () => {
    const texts = ['one', 'two "quoted"', 'é'];
    const bytes = dataOf(...texts.map((content) => ({ id: 'x'.repeat(90), choices: [{ delta: { content } }] })));
    const { usage, textBytes } = read([bytes]);
    expect(usage).toBeNull();
    expect(textBytes).toBe(Buffer.byteLength(texts.map((text) => JSON.stringify(text).slice(1, -1)).join('')));
  });

  it('detects the type of an answer from its first event', () => {
    const begin = (...pieces: string[]) => {
      const reader = new AnswerReader();
      return pieces.map((piece) => {
        reader.data(Buffer.from(piece));
        return reader.start();
      });
    };
    expect(begin('\n', ': wait\n\n', 'data: {"choices"', ':[]}\n\n')).toEqual([
      'unknown',
      'unknown',
      'unknown',
      'answer',
    ]);
    expect(begin('data: {"error":{"code":400}}\n', '\n')).toEqual(['unknown', 'error']);
  });

  it('never throws, whatever bytes arrive', () => {
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.string().map((text) => Buffer.from(`data: {"usage":${text}\n\n`)),
    );
    fc.assert(
      fc.property(fc.array(noise), (pieces) => {
        read(pieces.map((piece) => Buffer.from(piece)));
      }),
    );
  });
});

describe('an encoded answer', () => {
  // how bytes are decoded and what they say are apart: each form comes as it is and in two of the encodings
  for (const [at, [encoding, encode]] of ENCODINGS.entries()) {
    const some = named.filter((_, i) => at === 0 || i % 3 === at % 3);
    it.each(some)(`with ${encoding || 'no encoding'} is read as far as it arrives: %s`, async (_name, answer) => {
      const bytes = await encode(answer.bytes);
      for (const size of [bytes.length, 700]) {
        const tap = new AnswerTap();
        tap.head(encoding);
        for (let at = 0; at < bytes.length; at += size) tap.data(bytes.subarray(at, at + size));
        expectReported(await tap.end(), answer);
      }
    });
  }

  it('is read to its end as it arrives, whatever its length', async () => {
    const usage = { prompt_tokens: 120, completion_tokens: 7 };
    const event = { choices: [{ delta: { content: 'a line of an answer '.repeat(50) } }] };
    const bytes = dataOf(...Array.from({ length: 1_100 }, () => event), { usage });
    expect(bytes.length).toBeGreaterThan(2 ** 20);
    for (const [encoding, encode] of ENCODINGS) {
      const encoded = await encode(bytes);
      const tap = new AnswerTap();
      tap.head(encoding);
      for (let at = 0; at < encoded.length; at += 64_000) tap.data(encoded.subarray(at, at + 64_000));
      expect([encoding, (await tap.end()).usage]).toMatchObject([encoding, { promptTokens: 120 }]);
    }
    let decoded = 0;
    const decoder = new AnswerDecoder('gzip', (piece) => {
      decoded += piece.length;
    });
    decoder.data(gzipSync(randomBytes(100_000)));
    await until(() => decoded > 16_000); // its end has not arrived
  });

  it('is not read in an unknown encoding, and damaged data causes no failure', async () => {
    for (const encoding of ['compress', 'gzip', 'deflate', 'br', 'zstd']) {
      const tap = new AnswerTap();
      tap.head(encoding);
      tap.data(dataOf({ usage: { prompt_tokens: 1 } }));
      expect((await tap.end()).usage).toBeNull();
    }
  });
});

describe('a JSON text of more than 64 KB', () => {
  const skimmed = (bytes: Buffer, places: readonly number[]): string[] => {
    const values: string[] = [];
    const json = new BoundedJson(
      (value) => values.push(value),
      () => {},
    );
    for (const piece of inPieces(bytes, places)) json.data(piece);
    json.end();
    return values;
  };

  it('is kept as valid JSON of at most 72 KB with its usage, whatever it contains', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.boolean(), cuts, (text, isKnown, places) => {
        const filler = JSON.stringify(Array.from({ length: 9_000 }, (_, i) => `${i} of many`));
        const bytes = Buffer.from(`{"a":${text},"${isKnown ? 'content' : 'b'}":${filler},"usage":{"n":[1,{"m":"x"}]}}`);
        const [value = ''] = skimmed(bytes, places);
        expect(value.length).toBeLessThan(72 * 1024);
        expect(JSON.parse(Buffer.from(value, 'latin1').toString())).toMatchObject({ usage: { n: [1, { m: 'x' }] } });
      }),
      { numRuns: 30 },
    );
  });
});
