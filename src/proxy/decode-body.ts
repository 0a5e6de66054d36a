import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { type Decoder, unzstd } from './zstd.ts';

/** CPU time for decoding on the main thread, in milliseconds; native decoders run on other threads and ignore it. */
const DECODE_MS = 1_000;

/** Supported encodings, by their names in RFC 9110 §8.4.1 and RFC 8878 §7. */
const decoders = new Map<string, Decoder>([
  ['gzip', native(gunzip)],
  ['x-gzip', native(gunzip)],
  ['deflate', native(inflate)],
  ['br', native(brotliDecompress)],
  ['zstd', unzstd],
]);

/**
 * Decodes a content encoding.
 *
 * @returns `null` if the encoding is unsupported, the bytes are broken, or the result would exceed `maxBytes`
 */
export async function decodeBody(body: Buffer, encoding: string, maxBytes: number): Promise<Buffer | null> {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity') return body;
  const decode = decoders.get(name);
  if (decode === undefined) return null;
  try {
    return await decode(body, { maxBytes, cpuMs: DECODE_MS });
  } catch {
    return null;
  }
}

function native(decompress: typeof gunzip): Decoder {
  const promised = promisify(decompress);
  return (body, { maxBytes }) => promised(body, { maxOutputLength: maxBytes });
}
