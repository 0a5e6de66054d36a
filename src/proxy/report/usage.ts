import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { AnswerReader, AnswerTurn, ProviderUsage } from '../../wires/dialects/dialect.ts';

/** Maximum number of bytes of a compressed answer kept until its end; a longer one is not read. */
const COMPRESSED_BYTES = 1024 * 1024;
/** Supported encodings of answers. */
export const answerDecoders = new Map([
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** Maximum number of bytes of an answer kept until its report is built, to find the tool calls in it. */
const KEPT_BYTES = 1024 * 1024;

/** The answer so far; empty once it is longer than the limit. */
export class KeptAnswer {
  #pieces: Buffer[] = [];
  #size = 0;

  data(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#size > KEPT_BYTES) this.#pieces = [];
    else this.#pieces.push(piece);
  }

  /** The answer; `''` if it was too long. */
  text(): string {
    return Buffer.concat(this.#pieces).toString('utf8');
  }
}

/**
 * Feeds an answer to its reader while it is streamed. A compressed answer is decoded and read after its end, off the
 * request path.
 */
export class UsageTap {
  readonly #reader: AnswerReader;
  readonly #answer = new KeptAnswer();
  #encoding = '';
  #compressed: Buffer[] = [];
  #size = 0;
  #decoded: Promise<boolean> | null = null;

  constructor(reader: AnswerReader) {
    this.#reader = reader;
  }

  head(contentEncoding: string): void {
    this.#encoding = contentEncoding.trim().toLowerCase();
  }

  data(chunk: Buffer): void {
    if (this.#encoding === '' || this.#encoding === 'identity') this.#read(chunk);
    else if (answerDecoders.has(this.#encoding)) {
      this.#size += chunk.length;
      if (this.#size > COMPRESSED_BYTES) this.#compressed = [];
      else this.#compressed.push(chunk);
    }
  }

  /** The answer, once `usage` is known; `''` if it is too long. */
  text(): string {
    return this.#answer.text();
  }

  #read(data: Buffer): void {
    this.#reader.data(data);
    this.#answer.data(data);
  }

  /** Data that later requests may refer to, or `null`. Neither throws nor rejects. */
  turn(): AnswerTurn | null | Promise<AnswerTurn | null> {
    const decoded = this.#decode();
    return decoded ? decoded.then((all) => (all ? this.#reader.turn() : null)) : this.#reader.turn();
  }

  /** Neither throws nor rejects; `null` if the answer reports no usage. */
  usage(): ProviderUsage | null | Promise<ProviderUsage | null> {
    const decoded = this.#decode();
    return decoded ? decoded.then((all) => (all ? this.#reader.usage() : null)) : this.#reader.usage();
  }

  /**
   * Decodes a compressed answer for the reader. Resolves to whether that succeeded; returns `null` if it was not
   * compressed.
   */
  #decode(): Promise<boolean> | null {
    const decode = answerDecoders.get(this.#encoding);
    if (!decode || this.#size === 0) return null;
    this.#decoded ??= decode(Buffer.concat(this.#compressed), { maxOutputLength: 16 * COMPRESSED_BYTES }).then(
      (decoded) => {
        this.#read(decoded);
        return true;
      },
      () => false,
    );
    this.#compressed = [];
    return this.#decoded;
  }
}
