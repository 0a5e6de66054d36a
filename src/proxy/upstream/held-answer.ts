import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { fieldIn, responseHeaders } from './headers.ts';

/** An error is some hundred bytes long; a longer answer is passed on. */
const MAX_BYTES = 64 * 1024;

const decoders = new Map([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  ['deflate', inflateSync],
  ['br', brotliDecompressSync],
]);

/** An answer of which nothing has been passed on, because what it says decides whether it is. */
export class HeldAnswer {
  /** Its fields as received. */
  readonly raw: unknown;
  readonly statusMessage: string;
  readonly chunks: Buffer[] = [];
  #size = 0;

  constructor(raw: unknown, statusMessage: string) {
    this.raw = raw;
    this.statusMessage = statusMessage;
  }

  /** Adds a piece; `false` when it is too long to be held any longer. */
  take(chunk: Buffer): boolean {
    this.chunks.push(Buffer.from(chunk));
    this.#size += chunk.length;
    return this.#size <= MAX_BYTES;
  }

  /** Its body without its encoding; empty when it cannot be read. */
  decoded(): Buffer {
    const body = Buffer.concat(this.chunks);
    const encoding = fieldIn(responseHeaders(this.raw), 'content-encoding').trim().toLowerCase();
    if (encoding === '' || encoding === 'identity') return body;
    try {
      return decoders.get(encoding)?.(body, { maxOutputLength: 4 * MAX_BYTES }) ?? Buffer.alloc(0);
    } catch {
      return Buffer.alloc(0);
    }
  }
}
