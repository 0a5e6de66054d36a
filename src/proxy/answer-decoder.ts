import type { Transform } from 'node:stream';
import { finished } from 'node:stream/promises';
import { decodedLimit, openDecoder } from './encodings.ts';

/** Compressed chunks are decoded in batches of this size on another thread. */
const BATCH_BYTES = 16 * 1024;
/** Maximum size of a decoded answer; the rest is ignored. */
const MAX_DECODED_BYTES = 256 * 1024 * 1024;
/** Decoded size up to which the ratio does not matter: the events of a long answer are nearly equal. */
const FREE_BYTES = 16 * 1024 * 1024;

/** Decodes an answer chunk by chunk, so that a truncated answer is decoded as far as possible. */
export class AnswerDecoder {
  readonly #encoding: string;
  readonly #onData: (decoded: Buffer) => void;
  #waiting: Buffer[] = [];
  #size = 0;
  #received = 0;
  #decoded = 0;
  #stream: Transform | null = null;
  #end: Promise<void> = Promise.resolve();

  /** @param encoding - an encoding for which `isDecodable` is true */
  constructor(encoding: string, onData: (decoded: Buffer) => void) {
    this.#encoding = encoding;
    this.#onData = onData;
  }

  data(chunk: Buffer): void {
    this.#received += chunk.length;
    if (this.#stream?.writable === false) return; // broken or too large
    this.#waiting.push(chunk);
    this.#size += chunk.length;
    if (this.#size >= BATCH_BYTES) this.#write();
  }

  /** Resolves when all chunks are decoded. Never rejects. */
  async end(): Promise<void> {
    this.#write();
    this.#stream?.end();
    await this.#end;
  }

  #write(): void {
    if (this.#size === 0) return;
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#size = 0;
    this.#stream ??= this.#opened(bytes);
    if (this.#stream?.writable) this.#stream.write(bytes);
  }

  /** @returns `null` if the first bytes are broken */
  #opened(start: Buffer): Transform | null {
    const stream = this.#open(start);
    if (stream === null) return null;
    stream.on('data', (decoded: Buffer) => {
      this.#decoded += decoded.length;
      const limit = Math.min(decodedLimit(this.#received, FREE_BYTES), MAX_DECODED_BYTES);
      if (this.#decoded <= limit) this.#onData(decoded);
      else stream.destroy();
    });
    this.#end = finished(stream).catch(() => {}); // broken or too large: keep what was decoded
    return stream;
  }

  #open(start: Buffer): Transform | null {
    try {
      return openDecoder(this.#encoding, start, 'partial');
    } catch {
      return null;
    }
  }
}
