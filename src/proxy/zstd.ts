import { Transform } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { Decompress } from 'fzstd';
import { threadCpuMs } from '../core/decide/time-limits.ts';

/** Limits of decoding. */
export interface DecodeLimits {
  /** Maximum size of the result, in bytes. */
  readonly maxBytes: number;
  /** Maximum CPU time on the main thread, in milliseconds. */
  readonly cpuMs: number;
}

/** Decodes one encoding. Rejects if the bytes are broken or a limit is exceeded. */
export type Decoder = (body: Buffer, limits: DecodeLimits) => Promise<Buffer>;

type NativeZstd = (
  body: Buffer,
  options: { readonly maxOutputLength: number },
  callback: (cause: Error | null, decoded: Buffer) => void,
) => void;

/** Decodes `zstd` (RFC 8878): natively from Node 22.15 on, otherwise in JavaScript. */
export const unzstd: Decoder = nativeZstd() ?? unzstdInTurns;

function nativeZstd(): Decoder | null {
  const { zstdDecompress } = zlib as { readonly zstdDecompress?: NativeZstd };
  if (zstdDecompress === undefined) return null;
  const decompress = promisify(zstdDecompress);
  // by itself, it accepts a truncated frame
  return async (body, { maxBytes }) => decompress(checkedFrame(body, maxBytes), { maxOutputLength: maxBytes });
}

/** Bytes decoded per step: at most 16 blocks, for each of which the decoder may move a window of 8 MiB. */
const SLICE_BYTES = 64;
/** Maximum decoding time before yielding to other events, in milliseconds. */
const TURN_MS = 10;

/**
 * Decodes `zstd` in JavaScript, block by block, and stops at the first block beyond a limit.
 *
 * @throws Error if the bytes are broken, truncated, require a dictionary, or exceed a limit
 */
export async function unzstdInTurns(body: Buffer, { maxBytes, cpuMs }: DecodeLimits): Promise<Buffer> {
  const frame = checkedFrame(body, maxBytes);
  const pieces: Uint8Array[] = [];
  let size = 0;
  let ended = false;
  const stream = new Decompress((piece, isLast) => {
    size += piece.length;
    if (size > maxBytes) throw new RangeError('the decoded body is too large');
    if (usedMs + threadCpuMs() - startedMs > cpuMs) throw new Error('decoding takes too long');
    pieces.push(piece);
    ended = isLast === true;
  });
  let turn = performance.now();
  let usedMs = 0; // in earlier turns
  let startedMs = threadCpuMs();
  for (let at = 0; at < frame.length; at += SLICE_BYTES) {
    const end = Math.min(at + SLICE_BYTES, frame.length);
    stream.push(frame.subarray(at, end), end === frame.length);
    if (performance.now() - turn > TURN_MS) {
      usedMs += threadCpuMs() - startedMs;
      await nextTurn();
      turn = performance.now();
      startedMs = threadCpuMs();
    }
  }
  if (!ended) throw new Error('the zstd frame is unfinished');
  return Buffer.concat(pieces, size);
}

type ZstdStream = (options: object) => Transform;

/** Decodes a `zstd` stream; an incomplete end is dropped. */
export function zstdStream(): Transform {
  const { createZstdDecompress } = zlib as { readonly createZstdDecompress?: ZstdStream };
  return createZstdDecompress?.(PARTIAL) ?? new JsZstdStream();
}

/** Makes a truncated stream end without an error. */
const PARTIAL = { finishFlush: 1 /* ZSTD_e_flush, which older versions of Node.js do not know */ };

/**
 * Decodes the beginning of a small `zstd` frame at once.
 *
 * @throws Error if the bytes are broken, or decode to more than `maxBytes`
 */
export function zstdStart(bytes: Buffer, maxBytes: number): Buffer {
  headerOf(bytes, maxBytes);
  const pieces: Uint8Array[] = [];
  let size = 0;
  const decoder = new Decompress((piece) => {
    size += piece.length;
    if (size > maxBytes) throw new RangeError('the decoded bytes are too large');
    pieces.push(piece);
  });
  decoder.push(bytes);
  return Buffer.concat(pieces);
}

/** `zstdStream` in JavaScript, for one frame. */
class JsZstdStream extends Transform {
  readonly #decoder = new Decompress((piece) => this.push(piece));
  #first = true;

  /** @param chunk - the first chunk contains the whole frame header */
  override _transform(chunk: Buffer, _encoding: string, done: (cause?: Error | null) => void): void {
    try {
      if (this.#first) headerOf(chunk, MAX_CONTENT_BYTES);
      this.#first = false;
      for (let at = 0; at < chunk.length; at += SLICE_BYTES) this.#decoder.push(chunk.subarray(at, at + SLICE_BYTES));
      done();
    } catch (cause) {
      done(cause instanceof Error ? cause : new Error(String(cause)));
    }
  }
}

const MAGIC = 0xfd2fb528;
/** Maximum declared size of a streamed frame, because the decoder allocates it for single-segment frames. */
const MAX_CONTENT_BYTES = 16 * 1024 * 1024;
/**
 * Largest window of a frame that is not a single segment: the minimum that RFC 8878 §3.1.1.1.2 recommends supporting.
 */
const MAX_WINDOW_BYTES = 8 * 1024 * 1024;
const CHECKSUM_BYTES = 4;

/** @throws Error for several frames, because only the first header is checked */
function checkedFrame(body: Buffer, maxBytes: number): Buffer {
  const { end, checksum } = headerOf(body, maxBytes);
  if (behindBlocks(body, end) + checksum !== body.length) throw new Error('expected exactly one complete frame');
  return body;
}

/**
 * Checks a frame's header, because the decoder allocates the declared memory before it reads on.
 *
 * @returns the header's end, and the size of the checksum after the blocks
 */
function headerOf(body: Buffer, maxBytes: number): { readonly end: number; readonly checksum: number } {
  if (body.readUInt32LE(0) !== MAGIC) throw new Error('not a zstd frame');
  const descriptor = body.readUInt8(4);
  if ((descriptor & 0b1011) !== 0) throw new Error('the frame requires a dictionary or an unsupported feature');
  const single = (descriptor & 0b10_0000) !== 0;
  const sizeAt = single ? 5 : 6;
  const sizeBytes = [single ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const size = contentSize(body, sizeAt, sizeBytes);
  if (size > maxBytes || (!single && windowBytes(body.readUInt8(5)) > MAX_WINDOW_BYTES)) {
    throw new RangeError('the decoded body would be too large');
  }
  return { end: sizeAt + sizeBytes, checksum: (descriptor & 0b100) === 0 ? 0 : CHECKSUM_BYTES };
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

/** Position after the last block (RFC 8878 §3.1.1.2). @throws RangeError if the bytes end before it */
function behindBlocks(body: Buffer, from: number): number {
  let at = from;
  for (let isLast = false; !isLast; ) {
    const head = body.readUIntLE(at, 3);
    const isRepeated = ((head >> 1) & 0b11) === 1;
    isLast = (head & 1) === 1;
    at += 3 + (isRepeated ? 1 : head >> 3);
  }
  return at;
}
