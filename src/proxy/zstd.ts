import { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { Decompress } from 'fzstd';
import { threadCpuMs } from '../core/decide/time-limits.ts';
import { Turns } from '../core/decide/turns.ts';
import type { Completeness } from './encodings.ts';

/** Time after which a decoder lets other events run, in milliseconds. */
const PIECE_MS = 5;
/** CPU time for decoding in JavaScript, in milliseconds; answers get more with each kilobyte, because they are long. */
const DECODE_MS = 1_000;
const ANSWER_MS_PER_KB = 10;
/** Maximum time for decoding a beginning at once, in milliseconds. */
const START_MS = 100;

/** Shared, so that many decoders together hold the event loop no longer than one. */
const turns = new Turns();

type OpenNative = (options: object) => Transform;

const { createZstdDecompress: nativeZstd = null } = zlib as { readonly createZstdDecompress?: OpenNative | null };
/** Bytes per slice of a native decoder, which decodes each slice on another thread. Answers have Node's small slices. */
export const SLICE = { chunkSize: 256 * 1024 };

/** Makes a truncated stream end without an error. */
const PARTIAL = { finishFlush: 1 /* ZSTD_e_flush, which older versions of Node.js do not know */ };

/**
 * Opens a decoder of one `zstd` frame (RFC 8878): natively from Node 22.15 on, otherwise in JavaScript.
 *
 * @param start - the first bytes with the frame's header, not yet written; all of them if the frame is `whole`
 * @param openNative - Node's own decoder, if there is one
 * @throws Error if the header is broken or requires too much memory, or a `whole` frame is truncated
 */
export function zstdStream(start: Buffer, completeness: Completeness, openNative = nativeZstd): Transform {
  checkStart(start, completeness);
  if (openNative === null) return new JsZstdStream(headerOf(start).end, completeness);
  return openNative(completeness === 'partial' ? PARTIAL : SLICE);
}

/**
 * Decodes the beginning of a small `zstd` frame at once.
 *
 * @throws Error if the bytes are broken, decode to more than `maxBytes`, or take too long
 */
export function zstdStart(bytes: Buffer, maxBytes: number): Buffer {
  headerOf(bytes);
  const end = performance.now() + START_MS;
  const pieces: Uint8Array[] = [];
  let size = 0;
  const decoder = new Decompress((piece) => {
    size += piece.length;
    if (size > maxBytes) throw new RangeError('the decoded bytes are too large');
    if (performance.now() > end) throw new Error('decoding takes too long');
    pieces.push(piece);
  });
  decoder.push(bytes);
  return Buffer.concat(pieces);
}

/** `zstdStream` in JavaScript: decodes block by block, in time slices. */
class JsZstdStream extends Transform {
  readonly #decoder = new Decompress((piece) => this.push(piece));
  readonly #completeness: Completeness;
  /** Bytes left of the frame's header or the current block. */
  #left: number;
  /** The part received so far of a block's header. */
  #head = 0;
  #headBytes = 0;
  #received = 0;
  /** Time spent so far on the clock, and CPU time after the clock's limit. */
  #workedMs = 0;
  #usedMs = 0;

  /** @param headerBytes - length of the frame's header */
  constructor(headerBytes: number, completeness: Completeness) {
    super();
    this.#left = headerBytes;
    this.#completeness = completeness;
  }

  override _transform(chunk: Buffer, _encoding: string, done: (cause?: Error | null) => void): void {
    this.#received += chunk.length;
    this.#decode(chunk).then(
      () => done(),
      (cause: unknown) => done(cause instanceof Error ? cause : new Error(String(cause))),
    );
  }

  /** The decoder holds tiny frames back until the end. */
  override _flush(done: (cause?: Error | null) => void): void {
    try {
      this.#decoder.push(new Uint8Array(0), true);
      done();
    } catch (cause) {
      done(this.#completeness === 'whole' && cause instanceof Error ? cause : null);
    }
  }

  /** Gives up once the consumer has destroyed the stream. */
  async #decode(chunk: Buffer): Promise<void> {
    for (let at = 0; at < chunk.length && !this.destroyed; ) at = await turns.run(() => this.#advance(chunk, at));
  }

  /** @returns the position behind the decoded part */
  #advance(chunk: Buffer, from: number): number {
    const msPerKb = this.#completeness === 'partial' ? ANSWER_MS_PER_KB : 0;
    const limitMs = DECODE_MS + (msPerKb * this.#received) / 1024;
    // CPU time counts, but reading it is slow, and time on the clock is an upper bound for it
    const startedMs = this.#workedMs > limitMs ? threadCpuMs() : null;
    const startedAt = performance.now();
    let at = from;
    while (at < chunk.length && !this.destroyed && performance.now() - startedAt < PIECE_MS) {
      const end = this.#blockEnd(chunk, at);
      this.#decoder.push(chunk.subarray(at, end));
      at = end;
    }
    this.#workedMs += performance.now() - startedAt;
    if (startedMs !== null) this.#usedMs += threadCpuMs() - startedMs;
    if (this.#usedMs > limitMs) throw new Error('decoding takes too long');
    return at;
  }

  /** Position behind the block at `from` (RFC 8878 §3.1.1.2), or behind the chunk. */
  #blockEnd(chunk: Buffer, from: number): number {
    let at = from;
    while (this.#left === 0 && at < chunk.length) {
      this.#head |= (chunk[at++] ?? 0) << (8 * this.#headBytes++);
      if (this.#headBytes < BLOCK_HEADER_BYTES) continue;
      this.#left = blockBytes(this.#head);
      this.#head = this.#headBytes = 0;
    }
    const bytes = Math.min(this.#left, chunk.length - at);
    this.#left -= bytes;
    return at + bytes;
  }
}

const MAGIC = 0xfd2fb528;
/** Largest window: the limit for content encodings (RFC 9659 §3). */
const MAX_WINDOW_BYTES = 8 * 1024 * 1024;
/** Largest frame of a single segment, whose window is the whole content. */
const MAX_SEGMENT_BYTES = 16 * 1024 * 1024;
const CHECKSUM_BYTES = 4;

/** @throws Error if the header is unsupported, or a whole body is not exactly one complete frame */
function checkStart(start: Buffer, completeness: Completeness): void {
  const { end, checksum } = headerOf(start);
  if (completeness === 'partial') return;
  // the native decoder accepts a truncated frame, and only the first header is checked
  if (behindBlocks(start, end) + checksum !== start.length) throw new Error('expected exactly one complete frame');
}

/** Memory for the window of a frame, in bytes. @throws Error if its header is broken or requires too much memory */
export function zstdWindow(start: Buffer): number {
  return headerOf(start).window;
}

/**
 * Checks a frame's header, because the decoder allocates the declared memory before it reads on.
 *
 * @returns the header's end, the size of the checksum after the blocks, and the size of the window
 */
function headerOf(body: Buffer): { readonly end: number; readonly checksum: number; readonly window: number } {
  if (body.readUInt32LE(0) !== MAGIC) throw new Error('not a zstd frame');
  const descriptor = body.readUInt8(4);
  if ((descriptor & 0b1011) !== 0) throw new Error('the frame requires a dictionary or an unsupported feature');
  const single = (descriptor & 0b10_0000) !== 0;
  const sizeAt = single ? 5 : 6;
  const sizeBytes = [single ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const size = contentSize(body, sizeAt, sizeBytes);
  const window = single ? size : windowBytes(body.readUInt8(5));
  if (window > (single ? MAX_SEGMENT_BYTES : MAX_WINDOW_BYTES)) {
    throw new RangeError('the frame requires a window that is too large');
  }
  return { end: sizeAt + sizeBytes, checksum: (descriptor & 0b100) === 0 ? 0 : CHECKSUM_BYTES, window };
}

/** RFC 8878 §3.1.1.1.2 */
function windowBytes(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 0b111);
}

/** RFC 8878 §3.1.1.1.4; 0 if the frame does not declare its size. */
function contentSize(body: Buffer, at: number, bytes: number): number {
  if (bytes === 8) return Number(body.readBigUInt64LE(at));
  if (bytes === 0) return 0;
  return body.readUIntLE(at, bytes) + (bytes === 2 ? 256 : 0);
}

/** Position after the last block. @throws RangeError if the bytes end before it */
function behindBlocks(body: Buffer, from: number): number {
  let at = from;
  for (let isLast = false; !isLast; ) {
    const head = body.readUIntLE(at, BLOCK_HEADER_BYTES);
    isLast = (head & 1) === 1;
    at += BLOCK_HEADER_BYTES + blockBytes(head);
  }
  return at;
}

const BLOCK_HEADER_BYTES = 3;

/** Bytes of a block behind its header (RFC 8878 §3.1.1.2). */
function blockBytes(head: number): number {
  const isRepeated = ((head >> 1) & 0b11) === 1;
  return isRepeated ? 1 : head >> 3;
}
