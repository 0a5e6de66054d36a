import { promisify } from 'node:util';
import { brotliCompress, brotliDecompress, brotliDecompressSync, constants } from 'node:zlib';
import { StoreUnavailable } from '../errors/errors.ts';

const compress = promisify(brotliCompress);
const decompress = promisify(brotliDecompress);

/** Smaller texts are not compressed: brotli would save a few bytes, and reading them back would cost more. */
export const PACK_FROM_BYTES = 2048;
/** Up to this size unpacking takes tens of microseconds, less than a round trip through the thread pool. */
const UNPACK_INLINE_BYTES = 32_768;

/** The encoding of a text's bytes: 0 UTF-8, 1 UTF-16LE (lone surrogates have no UTF-8). */
export type Encoding = 0 | 1;

export interface EncodedText {
  readonly encoding: Encoding;
  readonly data: Buffer;
}

/** Encodes a text losslessly; `decodeText` returns exactly the same UTF-16 units. */
export function encodeText(text: string): EncodedText {
  return text.isWellFormed()
    ? { encoding: 0, data: Buffer.from(text, 'utf8') }
    : { encoding: 1, data: Buffer.from(text, 'utf16le') };
}

/** Inverse of `encodeText`. */
export function decodeText({ encoding, data }: EncodedText): string {
  return data.toString(encoding === 1 ? 'utf16le' : 'utf8');
}

/** A window of 256 KB: nearly all texts are smaller, and the encoder's memory is proportional to it. */
const WINDOW_BITS = 18;

/** Compresses on the thread pool; `null` if that saves nothing. */
export async function packBytes(data: Buffer): Promise<Buffer | null> {
  const packed = await compress(data, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 4,
      [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: data.length,
    },
  });
  return packed.length < data.length ? packed : null;
}

/**
 * Inverse of `packBytes`.
 *
 * @param size - uncompressed size in bytes
 * @throws Error for damaged bytes
 */
export async function unpackBytes(packed: Buffer, size: number): Promise<Buffer> {
  const options = { maxOutputLength: Math.max(1, size) };
  const data = size <= UNPACK_INLINE_BYTES ? brotliDecompressSync(packed, options) : await decompress(packed, options);
  if (data.length !== size) throw new Error(`snapshot of ${size} bytes unpacked to ${data.length}`);
  return data;
}

/** A text in its stored form; `openText` decodes it. */
export interface StoredText {
  readonly encoding: Encoding;
  readonly packing: number;
  readonly text_bytes: number;
  readonly data: Buffer;
}

/** A stored text with its hash. */
export interface HashedText extends StoredText {
  readonly hash: string;
}

/** The text, or `null` if it is damaged: its bytes cannot be unpacked, or its hash differs. */
export async function intactText(
  stored: HashedText,
  hashOf: ((text: string) => string) | undefined,
): Promise<string | null> {
  try {
    const text = await openText(stored);
    return hashOf === undefined || hashOf(text) === stored.hash ? text : null;
  } catch (cause) {
    if (cause instanceof StoreUnavailable) return null;
    throw cause;
  }
}

/**
 * The text, identical to the stored one.
 *
 * @throws StoreUnavailable `corrupt` if the stored bytes are damaged
 */
export async function openText({ encoding, packing, text_bytes, data }: StoredText): Promise<string> {
  if (packing !== 1) return decodeText({ encoding, data });
  try {
    return decodeText({ encoding, data: await unpackBytes(data, text_bytes) });
  } catch (cause) {
    throw new StoreUnavailable('corrupt', { cause });
  }
}
