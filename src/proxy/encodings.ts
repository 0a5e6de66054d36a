import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { SLICE, zstdStart, zstdStream, zstdWindow } from './zstd.ts';

/** Whether an encoded text is a complete request, where a missing end is an error, or an answer that may break off. */
export type Completeness = 'whole' | 'partial';

/**
 * Multiple of its encoded size up to which a text is decoded. Recorded conversations compress to a seventh at best; the
 * formats reach 1,000 (gzip) to a million.
 */
const MAX_RATIO = 100;

/** Maximum decoded size of a text, in bytes. Up to `freeBytes` the ratio does not matter: repetitive texts are usual. */
export function decodedLimit(encodedBytes: number, freeBytes: number): number {
  return Math.max(freeBytes, MAX_RATIO * encodedBytes);
}

/** Makes truncated input end without an error, keeping what was decoded. */
const PARTIAL = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
const PARTIAL_BROTLI = { finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH };

interface Encoding {
  /** Memory that a decoder of a text with this beginning may need, in bytes. @throws if the first bytes are broken */
  readonly window: (start: Buffer) => number;
  /** @param start - the first bytes; all of them if the text is `whole` */
  readonly stream: (start: Buffer, completeness: Completeness) => Transform;
  /** Decodes the beginning of an answer at once. @throws if the bytes are broken or too large */
  readonly start: (bytes: Buffer, maxOutputLength: number) => Buffer;
}

/** A window of 32 KiB (RFC 1951 §2) and the decoder's tables. */
const DEFLATE_BYTES = 64 * 1024;

const gzip: Encoding = {
  window: () => DEFLATE_BYTES,
  stream: (_, completeness) => zlib.createGunzip(completeness === 'partial' ? PARTIAL : SLICE),
  start: (bytes, maxOutputLength) => zlib.gunzipSync(bytes, { ...PARTIAL, maxOutputLength }),
};

/** Encodings by their names in RFC 9110 §8.4.1 and RFC 8878 §7. */
const encodings = new Map<string, Encoding>([
  ['gzip', gzip],
  ['x-gzip', gzip],
  [
    'deflate',
    {
      window: () => DEFLATE_BYTES,
      stream(start, completeness) {
        const options = completeness === 'partial' ? PARTIAL : SLICE;
        return hasZlibHeader(start) ? zlib.createInflate(options) : zlib.createInflateRaw(options);
      },
      start: (bytes, maxOutputLength) =>
        (hasZlibHeader(bytes) ? zlib.inflateSync : zlib.inflateRawSync)(bytes, { ...PARTIAL, maxOutputLength }),
    },
  ],
  [
    'br',
    {
      window: brotliWindow,
      stream: (_, completeness) => zlib.createBrotliDecompress(completeness === 'partial' ? PARTIAL_BROTLI : SLICE),
      start: (bytes, maxOutputLength) => zlib.brotliDecompressSync(bytes, { ...PARTIAL_BROTLI, maxOutputLength }),
    },
  ],
  ['zstd', { window: zstdWindow, stream: (start, completeness) => zstdStream(start, completeness), start: zstdStart }],
]);

/** The window that the first bits declare (RFC 7932 §9.1). */
function brotliWindow(start: Buffer): number {
  const [first = 0] = start;
  if ((first & 1) === 0) return 2 ** 16;
  const large = (first >> 1) & 0b111;
  if (large !== 0) return 2 ** (17 + large);
  const small = (first >> 4) & 0b111;
  return 2 ** (small === 0 ? 17 : 8 + small);
}

/** The deflate method in a zlib header (RFC 1950 §2.2). */
const DEFLATED = 8;

/** Some programs send `deflate` without the zlib header. */
function hasZlibHeader(start: Buffer): boolean {
  return ((start[0] ?? 0) & 0b1111) === DEFLATED;
}

/** Whether an encoding can be decoded; `false` if the text is not encoded. */
export function isDecodable(encoding: string): boolean {
  return encodings.has(encoding);
}

/**
 * Memory that a decoder may need for its window, in bytes. A decoder keeps it until its text has ended.
 *
 * @param encoding - an encoding for which `isDecodable` is true
 * @param start - the first bytes
 * @throws Error if they are broken
 */
export function windowBytes(encoding: string, start: Buffer): number {
  return encodings.get(encoding)?.window(start) ?? 0;
}

/**
 * Opens a decoder, which works in slices and never blocks the event loop for long.
 *
 * @param encoding - an encoding for which `isDecodable` is true
 * @param start - the first bytes, not yet written; all of them if the text is `whole`
 * @throws Error if the first bytes are broken, or require more memory than a sender may demand
 */
export function openDecoder(encoding: string, start: Buffer, completeness: Completeness): Transform {
  const found = encodings.get(encoding);
  if (found === undefined) throw new Error(`unsupported encoding: ${encoding}`);
  return found.stream(start, completeness);
}

/** Decodes the received part of an answer; empty if it cannot be decoded, or is too large. */
export function decodedStart(bytes: Buffer, encoding: string, maxBytes: number): Buffer {
  if (encoding === '' || encoding === 'identity') return bytes;
  try {
    return encodings.get(encoding)?.start(bytes, maxBytes) ?? Buffer.alloc(0);
  } catch {
    return Buffer.alloc(0);
  }
}
