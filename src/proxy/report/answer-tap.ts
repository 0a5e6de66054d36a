import { AnswerReader } from '../../wires/dialects/answers/reader.ts';
import type { Answer } from '../../wires/dialects/dialect.ts';
import { AnswerDecoder, isDecodable } from '../answer-decoder.ts';

/** Feeds an answer to its reader while it is streamed. An unknown encoding is not read. */
export class AnswerTap {
  readonly #reader = new AnswerReader();
  #decoder: AnswerDecoder | null = null;
  #answer: Answer | Promise<Answer> | null = null;

  /** Size of what has arrived, as it was sent. */
  bytes = 0;
  isEncoded = false;

  head(contentEncoding: string): void {
    const encoding = contentEncoding.trim().toLowerCase();
    this.isEncoded = encoding !== '' && encoding !== 'identity';
    if (isDecodable(encoding)) this.#decoder = new AnswerDecoder(encoding, (decoded) => this.#reader.data(decoded));
  }

  data(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.#decoder) this.#decoder.data(chunk);
    else if (!this.isEncoded) this.#reader.data(chunk);
  }

  /** What the answer reported, once it is over; a promise if it is compressed. Neither throws nor rejects. */
  end(): Answer | Promise<Answer> {
    this.#answer ??= this.#decoder ? this.#decoder.end().then(() => this.#reader.end()) : this.#reader.end();
    return this.#answer;
  }
}
