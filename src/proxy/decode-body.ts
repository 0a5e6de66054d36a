import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { type Decoder, unzstd } from './zstd.ts';

/** Longest time that decoding may keep the thread of the requests busy, in milliseconds. */
const DECODE_MS = 1_000;

/** The encodings that are understood, by the names that RFC 9110 §8.4.1 and RFC 8878 §7 give them. */
const decoders = new Map<string, Decoder>([
  ['gzip', native(gunzip)],
  ['x-gzip', native(gunzip)],
  ['deflate', native(inflate)],
  ['br', native(brotliDecompress)],
  ['zstd', unzstd],
]);

/**
 * Undoes a content encoding.
 *
 * @returns `null` when the encoding is not one of ours, the bytes are broken, or the result would pass `maxBytes`
 */
export async function decodeBody(body: Buffer, encoding: string, maxBytes: number): Promise<Buffer | null> {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return body;
  const decode = decoders.get(name);
  if (decode === undefined) return null;
  try {
    return await decode(body, { maxBytes, timeoutMs: DECODE_MS });
  } catch {
    return null;
  }
}

function native(decompress: typeof gunzip): Decoder {
  const promised = promisify(decompress);
  return (body, { maxBytes }) => promised(body, { maxOutputLength: maxBytes });
}
