import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { AnswerReader, AnswerTurn, ProviderUsage } from '../../dialects/dialect.ts';

/** Of a compressed answer so many bytes are kept until it is over; a longer one goes unread. */
const COMPRESSED_BYTES = 1024 * 1024;
/** Encodings in which answers come that are looked at. */
export const answerDecoders = new Map([
  ['gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** Lets a reader see an answer that goes by; a compressed one afterwards, off the path of the bytes. */
export class UsageTap {
  readonly #reader: AnswerReader;
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
    if (this.#encoding === '' || this.#encoding === 'identity') this.#reader.data(chunk);
    else if (answerDecoders.has(this.#encoding)) {
      this.#size += chunk.length;
      if (this.#size > COMPRESSED_BYTES) this.#compressed = [];
      else this.#compressed.push(chunk);
    }
  }

  /** What later requests may refer to, or `null`. Neither throws nor rejects. */
  turn(): AnswerTurn | null | Promise<AnswerTurn | null> {
    const decoded = this.#decode();
    return decoded ? decoded.then((all) => (all ? this.#reader.turn() : null)) : this.#reader.turn();
  }

  /** Neither throws nor rejects; `null` when the answer reports nothing. */
  usage(): ProviderUsage | null | Promise<ProviderUsage | null> {
    const decoded = this.#decode();
    return decoded ? decoded.then((all) => (all ? this.#reader.usage() : null)) : this.#reader.usage();
  }

  /** Shows the reader an answer that was compressed, once it is over; whether it could be read. `null`: it was not. */
  #decode(): Promise<boolean> | null {
    const decode = answerDecoders.get(this.#encoding);
    if (!decode || this.#size === 0) return null;
    this.#decoded ??= decode(Buffer.concat(this.#compressed), { maxOutputLength: 16 * COMPRESSED_BYTES }).then(
      (decoded) => {
        this.#reader.data(decoded);
        return true;
      },
      () => false,
    );
    this.#compressed = [];
    return this.#decoded;
  }
}
