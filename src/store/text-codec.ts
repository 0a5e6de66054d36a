import { promisify } from 'node:util';
import {
  brotliDecompress,
  brotliDecompressSync,
  deflateRaw,
  deflateRawSync,
  inflateRaw,
  inflateRawSync,
  type ZlibOptions,
} from 'node:zlib';
import type { NewDecision, PackedText, StoreBatch } from '../core/ports.ts';
import { StoreUnavailable, storeReason } from '../errors/errors.ts';

const compress = promisify<Buffer, ZlibOptions, Buffer>(deflateRaw);
const decompress = promisify<Buffer, ZlibOptions, Buffer>(inflateRaw);
const decompressBrotli = promisify(brotliDecompress);

/** Smaller texts are not compressed, since the savings do not justify the cost of reading them back. */
const PACK_FROM_BYTES = 2048;
/** Up to this size, unpacking takes tens of microseconds, less than a round trip through the thread pool. */
const UNPACK_INLINE_BYTES = 32_768;

/** Encoding of a text's bytes: 0 UTF-8, 1 UTF-16LE (UTF-8 cannot represent lone surrogates). */
export type Encoding = 0 | 1;

interface EncodedText {
  readonly encoding: Encoding;
  readonly data: Buffer;
}

/** Encodes a text losslessly, including lone surrogates. */
export function encodeText(text: string): EncodedText {
  return text.isWellFormed()
    ? { encoding: 0, data: Buffer.from(text, 'utf8') }
    : { encoding: 1, data: Buffer.from(text, 'utf16le') };
}

/** Inverse of `encodeText`. */
export function decodeText({ encoding, data }: EncodedText): string {
  return data.toString(encoding === 1 ? 'utf16le' : 'utf8');
}

/** Values of the column `packing`. Brotli was written by earlier versions. */
const PLAIN = 0;
const BROTLI = 1;
/** Compression was tried and would save nothing. */
const STAYS_PLAIN = 2;
const DEFLATED = 3;

/** The fastest level: 11 ms per MB. Brotli at level 4 is a sixth smaller but takes 72 ms. */
const LEVEL = { level: 1 };

/** The packing of uncompressed bytes. */
export function plainPacking({ length }: Buffer): number {
  return length < PACK_FROM_BYTES ? STAYS_PLAIN : PLAIN;
}

/** Bytes in their packed form. */
export type PackedBytes = Pick<StoredText, 'packing' | 'data'>;

/** Compresses on the thread pool. */
export async function packBytes(data: Buffer): Promise<PackedBytes> {
  return smaller(data, await compress(data, LEVEL));
}

/** Texts of up to this size together are compressed on this thread: a third of a millisecond. */
const PACK_INLINE_CHARS = 32_768;

/**
 * Compresses the originals of cuts before they are stored. Compressed later, each would be written twice and read back
 * once, and the file would keep the size of the plain texts. Returns a promise only for large texts; it never rejects.
 */
export function withPackedTexts(batch: StoreBatch): StoreBatch | Promise<StoreBatch> {
  const isOpen = ({ decision, text, packed }: NewDecision): boolean =>
    decision.pruneId !== null && packed === undefined && text.length >= PACK_FROM_BYTES;
  const chars = batch.decisions.reduce((sum, one) => (isOpen(one) ? sum + one.text.length : sum), 0);
  if (chars === 0) return batch;
  if (chars > PACK_INLINE_CHARS) return packLater(batch, isOpen);
  return {
    ...batch,
    decisions: batch.decisions.map((one) => (isOpen(one) ? { ...one, packed: packText(one.text) } : one)),
  };
}

async function packLater(batch: StoreBatch, isOpen: (one: NewDecision) => boolean): Promise<StoreBatch> {
  const pack = async (one: NewDecision): Promise<NewDecision> => {
    return { ...one, packed: await packTextLater(one.text).catch(() => undefined) }; // no memory: the sweep tries again
  };
  return { ...batch, decisions: await Promise.all(batch.decisions.map((one) => (isOpen(one) ? pack(one) : one))) };
}

/** Compresses a text to its stored form on the thread pool. */
async function packTextLater(text: string): Promise<StoredText> {
  const { encoding, data } = encodeText(text);
  const packed = data.length < PACK_FROM_BYTES ? data : await compress(data, LEVEL);
  return { encoding, text_bytes: data.length, ...smaller(data, packed) };
}

/** Compresses a text to its stored form on this thread. */
export function packText(text: string): StoredText {
  const { encoding, data } = encodeText(text);
  const packed = data.length < PACK_FROM_BYTES ? data : deflateRawSync(data, LEVEL);
  return { encoding, text_bytes: data.length, ...smaller(data, packed) };
}

function smaller(data: Buffer, packed: Buffer): PackedBytes {
  return packed.length < data.length ? { packing: DEFLATED, data: packed } : { packing: STAYS_PLAIN, data };
}

function unpackSync(packing: number, data: Buffer, size: number): Buffer {
  const options = { maxOutputLength: Math.max(1, size) };
  if (packing === BROTLI) return brotliDecompressSync(data, options);
  return packing === DEFLATED ? inflateRawSync(data, options) : data;
}

async function unpack(packing: number, data: Buffer, size: number): Promise<Buffer> {
  if (packing !== BROTLI && packing !== DEFLATED) return data;
  const options = { maxOutputLength: Math.max(1, size) };
  const later = packing === BROTLI ? decompressBrotli : decompress;
  const plain = size <= UNPACK_INLINE_BYTES ? unpackSync(packing, data, size) : await later(data, options);
  if (plain.length !== size) throw new Error(`snapshot of ${size} bytes unpacked to ${plain.length}`);
  return plain;
}

/** A text in stored form; decoded by `openText`. */
export interface StoredText extends PackedText {
  readonly data: Buffer;
}

/** A stored text with its hash. */
export interface HashedText extends StoredText {
  readonly hash: string;
}

/** Decodes a text; `null` if it is damaged, i.e. cannot be unpacked or has a different hash. */
export async function intactText(
  stored: HashedText,
  hashOf: ((text: string) => string) | undefined,
): Promise<string | null> {
  try {
    const text = await openText(stored);
    return hashOf === undefined || hashOf(text) === stored.hash ? text : null;
  } catch (cause) {
    if (storeReason(cause) !== null) return null;
    throw cause;
  }
}

/**
 * The text, identical to the stored one.
 *
 * @throws StoreUnavailable `corrupt` if the stored bytes are damaged
 */
export async function openText({ encoding, packing, text_bytes, data }: StoredText): Promise<string> {
  if (packing === PLAIN || packing === STAYS_PLAIN) return decodeText({ encoding, data });
  try {
    return decodeText({ encoding, data: await unpack(packing, data, text_bytes) });
  } catch (cause) {
    throw new StoreUnavailable('corrupt', { cause });
  }
}
