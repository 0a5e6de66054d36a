import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { headerIn, responseHeaders } from './headers.ts';

/** Error bodies are a few hundred bytes long; a longer answer is passed on. */
const MAX_BYTES = 64 * 1024;

const decoders = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

/** An answer held back until its content decides whether it is passed on. */
export class HeldAnswer {
  /** Its headers as received. */
  readonly raw: unknown;
  readonly statusMessage: string;
  readonly chunks: Buffer[] = [];
  #size = 0;

  constructor(raw: unknown, statusMessage: string) {
    this.raw = raw;
    this.statusMessage = statusMessage;
  }

  /** Adds a chunk; `false` if the answer is too long to hold. */
  take(chunk: Buffer): boolean {
    this.chunks.push(Buffer.from(chunk));
    this.#size += chunk.length;
    return this.#size <= MAX_BYTES;
  }

  /** Its decoded body; empty if it cannot be decoded. */
  decoded(): Buffer {
    const body = Buffer.concat(this.chunks);
    const encoding = headerIn(responseHeaders(this.raw), 'content-encoding').trim().toLowerCase();
    if (encoding === '' || encoding === 'identity') return body;
    try {
      return decoders.get(encoding)?.(body, { maxOutputLength: 4 * MAX_BYTES }) ?? Buffer.alloc(0);
    } catch {
      return Buffer.alloc(0);
    }
  }
}
