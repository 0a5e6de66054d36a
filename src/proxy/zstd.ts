import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { Decompress } from 'fzstd';

/** What bounds a decoding. */
export interface DecodeLimits {
  /** Largest result. */
  readonly maxBytes: number;
  /** Longest time it may take where it runs on the thread of the requests, in milliseconds. */
  readonly timeoutMs: number;
}

/** Undoes one encoding. Rejects when the bytes are broken or a limit is passed. */
export type Decoder = (body: Buffer, limits: DecodeLimits) => Promise<Buffer>;

type NativeZstd = (
  body: Buffer,
  options: { readonly maxOutputLength: number },
  callback: (cause: Error | null, decoded: Buffer) => void,
) => void;

/** Undoes `zstd` (RFC 8878): by Node itself from 22.15 on, else in JavaScript. */
export const unzstd: Decoder = nativeZstd() ?? unzstdInTurns;

function nativeZstd(): Decoder | null {
  const { zstdDecompress } = zlib as { readonly zstdDecompress?: NativeZstd };
  if (zstdDecompress === undefined) return null;
  const decompress = promisify(zstdDecompress);
  // by itself it takes a frame that ends too early for a whole one
  return async (body, { maxBytes }) => decompress(checkedFrame(body, maxBytes), { maxOutputLength: maxBytes });
}

/** Bytes that are decoded in one go: 16 blocks at the most, for each of which the decoder may move a window of 8 MiB. */
const SLICE_BYTES = 64;
/** How long decoding may go on before the others have their turn, in milliseconds. */
const TURN_MS = 10;

/**
 * Undoes `zstd` in JavaScript, block by block, and stops at the first block beyond a limit.
 *
 * @throws Error when the bytes are broken or unfinished, want a dictionary, or pass a limit
 */
export async function unzstdInTurns(body: Buffer, { maxBytes, timeoutMs }: DecodeLimits): Promise<Buffer> {
  const frame = checkedFrame(body, maxBytes);
  const pieces: Uint8Array[] = [];
  let size = 0;
  let ended = false;
  const stream = new Decompress((piece, isLast) => {
    size += piece.length;
    if (size > maxBytes) throw new RangeError('the decoded body is too large');
    if (performance.now() > deadline) throw new Error('decoding takes too long');
    pieces.push(piece);
    ended = isLast === true;
  });
  let turn = performance.now();
  const deadline = turn + timeoutMs;
  for (let at = 0; at < frame.length; at += SLICE_BYTES) {
    const end = Math.min(at + SLICE_BYTES, frame.length);
    stream.push(frame.subarray(at, end), end === frame.length);
    if (performance.now() - turn > TURN_MS) {
      await nextTurn();
      turn = performance.now();
    }
  }
  if (!ended) throw new Error('the zstd frame is unfinished');
  return Buffer.concat(pieces, size);
}

const MAGIC = 0xfd2fb528;
/** Of a frame whose content is not one segment: as much as RFC 8878 §3.1.1.1.2 wants every decoder to allow. */
const MAX_WINDOW_BYTES = 8 * 1024 * 1024;
const CHECKSUM_BYTES = 4;

/**
 * The one frame that the bytes are, when its head asks for nothing that is not to be given: the decoder gets all the room
 * that a head names before it reads on.
 *
 * @throws Error for several frames too: the others' heads would be nobody's to look at
 */
function checkedFrame(body: Buffer, maxBytes: number): Buffer {
  if (body.readUInt32LE(0) !== MAGIC) throw new Error('no zstd frame');
  const descriptor = body.readUInt8(4);
  if ((descriptor & 0b1011) !== 0) throw new Error('a dictionary or an unknown feature is wanted');
  const single = (descriptor & 0b10_0000) !== 0;
  const sizeAt = single ? 5 : 6;
  const sizeBytes = [single ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const size = contentSize(body, sizeAt, sizeBytes);
  if (size > maxBytes || (!single && windowBytes(body.readUInt8(5)) > MAX_WINDOW_BYTES)) {
    throw new RangeError('the decoded body would be too large');
  }
  const checksum = (descriptor & 0b100) === 0 ? 0 : CHECKSUM_BYTES;
  if (behindBlocks(body, sizeAt + sizeBytes) + checksum !== body.length) throw new Error('not one whole frame');
  return body;
}

/** RFC 8878 §3.1.1.1.2 */
function windowBytes(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 0b111);
}

/** RFC 8878 §3.1.1.1.4; 0 where it is not told. */
function contentSize(body: Buffer, at: number, bytes: number): number {
  if (bytes === 8) return Number(body.readBigUInt64LE(at));
  if (bytes === 0) return 0;
  return body.readUIntLE(at, bytes) + (bytes === 2 ? 256 : 0);
}

/** Where the last block ends (RFC 8878 §3.1.1.2). @throws RangeError when the bytes end before it */
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
