import type { Transform } from 'node:stream';
import { finished } from 'node:stream/promises';
import { getHeapStatistics } from 'node:v8';
import { ByteBudget } from './byte-budget.ts';
import { decodedLimit, openDecoder, windowBytes } from './encodings.ts';

/** Compressed chunks are decoded in batches of this size on another thread. */
const BATCH_BYTES = 16 * 1024;
/** Maximum size of a decoded answer; the rest is ignored. */
const MAX_DECODED_BYTES = 256 * 1024 * 1024;
/** Decoded size up to which the ratio does not matter: the events of a long answer are nearly equal. */
const FREE_BYTES = 16 * 1024 * 1024;
/** Compressed bytes kept while there is no memory for a decoder: events of a hundred thousand tokens. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** Maximum wait for memory after the answer has ended, in milliseconds. */
const PATIENCE_MS = 30_000;

/**
 * Share of the heap limit for the windows of all decoders. They are outside the heap, and answers of a few bytes may
 * demand 16 MiB each.
 */
const WINDOWS_HEAP_SHARE = 1 / 4;
/** Shared by all decoders. */
const allWindows = new ByteBudget(getHeapStatistics().heap_size_limit * WINDOWS_HEAP_SHARE);

/**
 * Decodes an answer chunk by chunk, so that a truncated answer is decoded as far as possible. Without memory for its
 * window, an answer is decoded later, at the latest after its end.
 */
export class AnswerDecoder {
  readonly #encoding: string;
  readonly #onData: (decoded: Buffer) => void;
  readonly #windows: Pick<ByteBudget, 'take' | 'tryTake'>;
  #waiting: Buffer[] = [];
  #size = 0;
  #received = 0;
  #decoded = 0;
  #stream: Transform | null = null;
  #end: Promise<void> = Promise.resolve();
  #isUnread = false;

  /** @param encoding - an encoding for which `isDecodable` is true */
  constructor(
    encoding: string,
    onData: (decoded: Buffer) => void,
    windows: Pick<ByteBudget, 'take' | 'tryTake'> = allWindows,
  ) {
    this.#encoding = encoding;
    this.#onData = onData;
    this.#windows = windows;
  }

  /** Whether a part was not decoded: it is broken, or the answer is too large, or there was no memory. */
  get isUnread(): boolean {
    return this.#isUnread;
  }

  data(chunk: Buffer): void {
    this.#received += chunk.length;
    if (this.#isUnread || this.#stream?.writable === false) return; // broken or too large
    this.#waiting.push(chunk);
    this.#size += chunk.length;
    if (this.#size < BATCH_BYTES) return;
    if (this.#stream === null) this.#open();
    if (this.#stream !== null) this.#write();
    else if (this.#size > MAX_WAITING_BYTES) this.#giveUp();
  }

  /** Resolves when all chunks are decoded. Never rejects. */
  async end(): Promise<void> {
    if (this.#size > 0 && this.#stream === null) await this.#openAtEnd();
    if (this.#stream !== null) this.#write();
    this.#stream?.end();
    await this.#end;
  }

  #write(): void {
    if (this.#size === 0) return;
    const bytes = this.#takeWaiting();
    if (this.#stream?.writable) this.#stream.write(bytes);
  }

  /** The waiting bytes in one piece, which they stay. */
  #joined(): Buffer {
    const [first] = this.#waiting;
    if (first !== undefined && this.#waiting.length === 1) return first;
    const all = Buffer.concat(this.#waiting, this.#size);
    this.#waiting = [all];
    return all;
  }

  #takeWaiting(): Buffer {
    const bytes = this.#joined();
    this.#waiting = [];
    this.#size = 0;
    return bytes;
  }

  #giveUp(): void {
    this.#isUnread = true;
    this.#waiting = [];
    this.#size = 0;
  }

  /** Opens a decoder if there is memory for it. */
  #open(): void {
    const start = this.#joined();
    const bytes = this.#windowOf(start);
    const release = bytes === null ? null : this.#windows.tryTake(bytes);
    if (release !== null) this.#opened(start, release);
  }

  async #openAtEnd(): Promise<void> {
    const start = this.#joined();
    const bytes = this.#windowOf(start);
    const release = bytes === null ? null : await this.#windows.take(bytes, PATIENCE_MS);
    if (release !== null) this.#opened(start, release);
    else if (bytes !== null) this.#giveUp();
  }

  /** @returns `null` if the first bytes are broken, and the answer was given up */
  #windowOf(start: Buffer): number | null {
    try {
      return windowBytes(this.#encoding, start);
    } catch {
      // broken: the answer counts as unread
      this.#giveUp();
      return null;
    }
  }

  #opened(start: Buffer, release: () => void): void {
    const stream = this.#openStream(start);
    if (stream === null) {
      release();
      this.#giveUp();
      return;
    }
    stream.on('data', (decoded: Buffer) => {
      this.#decoded += decoded.length;
      const limit = Math.min(decodedLimit(this.#received, FREE_BYTES), MAX_DECODED_BYTES);
      if (this.#decoded <= limit) this.#onData(decoded);
      else stream.destroy();
    });
    this.#stream = stream;
    this.#end = finished(stream)
      .catch(() => this.#markUnread()) // broken or too large: keep what was decoded
      .finally(release);
  }

  #markUnread(): void {
    this.#isUnread = true;
  }

  #openStream(start: Buffer): Transform | null {
    try {
      return openDecoder(this.#encoding, start, 'partial');
    } catch {
      return null;
    }
  }
}
