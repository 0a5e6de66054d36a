import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { AnswerReader, AnswerTurn, ProviderUsage } from '../dialects/dialect.ts';

/** Of a compressed answer so many bytes are kept until it is over; a longer one goes unread. */
const COMPRESSED_BYTES = 1024 * 1024;
const decoders = new Map([
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

  constructor(reader: AnswerReader) {
    this.#reader = reader;
  }

  head(contentEncoding: string): void {
    this.#encoding = contentEncoding.trim().toLowerCase();
  }

  data(chunk: Buffer): void {
    if (this.#encoding === '' || this.#encoding === 'identity') this.#reader.data(chunk);
    else if (decoders.has(this.#encoding)) {
      this.#size += chunk.length;
      if (this.#size > COMPRESSED_BYTES) this.#compressed = [];
      else this.#compressed.push(chunk);
    }
  }

  /** What later requests may refer to; `null` when the answer was compressed, or is none to refer to. */
  turn(): AnswerTurn | null {
    return this.#compressed.length > 0 ? null : this.#reader.turn();
  }

  /** Neither throws nor rejects; `null` when the answer reports nothing. */
  usage(): ProviderUsage | null | Promise<ProviderUsage | null> {
    const decode = decoders.get(this.#encoding);
    if (!decode || this.#compressed.length === 0) return this.#reader.usage();
    const bytes = Buffer.concat(this.#compressed);
    this.#compressed = [];
    return decode(bytes, { maxOutputLength: 16 * COMPRESSED_BYTES }).then(
      (decoded) => {
        this.#reader.data(decoded);
        return this.#reader.usage();
      },
      () => null,
    );
  }
}
