import { AnswerReader } from '../../wires/dialects/answers/reader.ts';
import type { Answer } from '../../wires/dialects/dialect.ts';
import { AnswerDecoder } from '../answer-decoder.ts';
import { isDecodable } from '../encodings.ts';

/** Feeds a streamed answer to its reader. Unknown encodings are skipped. */
export class AnswerTap {
  readonly #reader = new AnswerReader();
  #decoder: AnswerDecoder | null = null;
  #answer: Answer | Promise<Answer> | null = null;

  /** Received bytes, before decoding. */
  bytes = 0;
  isEncoded = false;

  head(contentEncoding: string): void {
    const encoding = contentEncoding.trim().toLowerCase();
    this.isEncoded = encoding !== '' && encoding !== 'identity';
    if (isDecodable(encoding)) this.#decoder = new AnswerDecoder(encoding, (decoded) => this.#reader.data(decoded));
  }

  /** Whether the answer could not be decoded, at least in part. */
  get isUnread(): boolean {
    return this.bytes > 0 && this.isEncoded && (this.#decoder?.isUnread ?? true);
  }

  data(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.#decoder) this.#decoder.data(chunk);
    else if (!this.isEncoded) this.#reader.data(chunk);
  }

  /** Facts reported by the finished answer; a promise if it is compressed. Never throws or rejects. */
  end(): Answer | Promise<Answer> {
    this.#answer ??= this.#decoder ? this.#decoder.end().then(() => this.#read()) : this.#read();
    return this.#answer;
  }

  #read(): Answer {
    const answer = this.#reader.end();
    return this.isUnread ? { ...answer, isEmpty: false, isUnread: true } : answer;
  }
}
