import type { Transform } from 'node:stream';
import { finished } from 'node:stream/promises';
import * as zlib from 'node:zlib';
import { zstdStart, zstdStream } from './zstd.ts';

/** Compressed chunks are decoded in batches of this size on another thread. */
const BATCH_BYTES = 16 * 1024;
/** Maximum size of a decoded answer; the rest is ignored. */
const MAX_DECODED_BYTES = 256 * 1024 * 1024;

/** Makes truncated input end without an error, keeping what was decoded. */
const PARTIAL = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
const PARTIAL_BROTLI = { finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH };

interface Encoding {
  /** @param start - the first bytes */
  readonly stream: (start: Buffer) => Transform;
  /** Decodes the beginning of an answer at once. @throws if the bytes are broken or too large */
  readonly start: (bytes: Buffer, maxOutputLength: number) => Buffer;
}

const gzip: Encoding = {
  stream: () => zlib.createGunzip(PARTIAL),
  start: (bytes, maxOutputLength) => zlib.gunzipSync(bytes, { ...PARTIAL, maxOutputLength }),
};

/** Encodings by their names in RFC 9110 §8.4.1 and RFC 8878 §7. */
const encodings = new Map<string, Encoding>([
  ['gzip', gzip],
  ['x-gzip', gzip],
  [
    'deflate',
    {
      stream: (start) => (hasZlibHeader(start) ? zlib.createInflate(PARTIAL) : zlib.createInflateRaw(PARTIAL)),
      start: (bytes, maxOutputLength) =>
        (hasZlibHeader(bytes) ? zlib.inflateSync : zlib.inflateRawSync)(bytes, { ...PARTIAL, maxOutputLength }),
    },
  ],
  [
    'br',
    {
      stream: () => zlib.createBrotliDecompress(PARTIAL_BROTLI),
      start: (bytes, maxOutputLength) => zlib.brotliDecompressSync(bytes, { ...PARTIAL_BROTLI, maxOutputLength }),
    },
  ],
  ['zstd', { stream: zstdStream, start: zstdStart }],
]);

/** The deflate method in a zlib header (RFC 1950 §2.2). */
const DEFLATED = 8;

/** Some servers send `deflate` without the zlib header. */
function hasZlibHeader(start: Buffer): boolean {
  return ((start[0] ?? 0) & 0b1111) === DEFLATED;
}

/** Whether an encoding can be decoded; `false` if the answer is not encoded. */
export function isDecodable(encoding: string): boolean {
  return encodings.has(encoding);
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

/** Decodes an answer chunk by chunk, so that a truncated answer is decoded as far as possible. */
export class AnswerDecoder {
  readonly #encoding: string;
  readonly #onData: (decoded: Buffer) => void;
  #waiting: Buffer[] = [];
  #size = 0;
  #decoded = 0;
  #stream: Transform | null = null;
  #end: Promise<void> = Promise.resolve();

  /** @param encoding - an encoding for which `isDecodable` is true */
  constructor(encoding: string, onData: (decoded: Buffer) => void) {
    this.#encoding = encoding;
    this.#onData = onData;
  }

  data(chunk: Buffer): void {
    this.#waiting.push(chunk);
    this.#size += chunk.length;
    if (this.#size >= BATCH_BYTES) this.#write();
  }

  /** Resolves when all chunks are decoded. Never rejects. */
  async end(): Promise<void> {
    this.#write();
    this.#stream?.end();
    await this.#end;
  }

  #write(): void {
    if (this.#size === 0) return;
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#size = 0;
    this.#stream ??= this.#opened(bytes);
    if (this.#stream?.writable) this.#stream.write(bytes);
  }

  #opened(start: Buffer): Transform | null {
    const stream = encodings.get(this.#encoding)?.stream(start) ?? null;
    if (stream === null) return null;
    stream.on('data', (decoded: Buffer) => {
      this.#decoded += decoded.length;
      if (this.#decoded <= MAX_DECODED_BYTES) this.#onData(decoded);
      else stream.destroy();
    });
    this.#end = finished(stream).catch(() => {}); // broken or too large: keep what was decoded
    return stream;
  }
}
