import { decodedStart } from '../answer-decoder.ts';
import { headerIn, responseHeaders } from './headers.ts';

/** Maximum size of the decoded bytes. */
const MAX_DECODED_BYTES = 256 * 1024;

/** An answer held back until its content decides whether it is passed on. */
export class HeldAnswer {
  /** Its headers as received. */
  readonly raw: unknown;
  readonly statusMessage: string;
  readonly chunks: Buffer[] = [];
  readonly #maxBytes: number;
  #size = 0;

  constructor(raw: unknown, statusMessage: string, maxBytes: number) {
    this.raw = raw;
    this.statusMessage = statusMessage;
    this.#maxBytes = maxBytes;
  }

  /** Adds a chunk; `false` if the answer is too long to hold. */
  take(chunk: Buffer): boolean {
    this.chunks.push(Buffer.from(chunk));
    this.#size += chunk.length;
    return this.#size <= this.#maxBytes;
  }

  /** Its decoded body so far; empty if it cannot be decoded. */
  decoded(): Buffer {
    const encoding = headerIn(responseHeaders(this.raw), 'content-encoding').trim().toLowerCase();
    return decodedStart(Buffer.concat(this.chunks), encoding, MAX_DECODED_BYTES);
  }
}
