import { parsed } from '../json/value.ts';

/** Longest event that is assembled; a longer one contains nothing of interest and is skipped. */
const MAX_EVENT_BYTES = 1024 * 1024;
/** Longest unstreamed answer that is kept for reading: answers are usually some tens of kilobytes long. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

const LINE_END = 0x0a;
const OPEN_BRACE = 0x7b;
const DATA = Buffer.from('data:');

/**
 * Parses a stream of server-sent events in transit and passes on the data of the wanted events. It buffers at most one
 * line. An answer that begins with `{` is not a stream; it is buffered and passed on as a whole.
 */
export class EventData {
  readonly #wanted: (line: Buffer) => boolean;
  readonly #onEvent: (value: unknown) => void;
  readonly #onBody: (value: unknown) => void;
  #streamed: boolean | null = null;
  #pieces: Buffer[] = [];
  #size = 0;

  /**
   * @param wanted - whether a line `data: …` is worth decoding; receives the line
   * @param onEvent - receives the JSON after `data:`; `undefined` if it is invalid
   * @param onBody - receives the body of an answer that is no stream
   */
  constructor(
    wanted: (line: Buffer) => boolean,
    onEvent: (value: unknown) => void,
    onBody: (value: unknown) => void = onEvent,
  ) {
    this.#wanted = wanted;
    this.#onEvent = onEvent;
    this.#onBody = onBody;
  }

  data(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#streamed ??= chunk.find((byte) => byte > 0x20) !== OPEN_BRACE;
    let from = 0;
    for (let end = this.#endIn(chunk, from); end >= 0; end = this.#endIn(chunk, from)) {
      this.#add(chunk.subarray(from, end));
      this.#line();
      from = end + 1;
    }
    if (from < chunk.length) this.#add(chunk.subarray(from));
  }

  /** The answer is over; a line without an end counts. */
  end(): void {
    if (this.#streamed) this.#line();
    else if (this.#pieces.length > 0) this.#onBody(parsed(this.#taken().toString('utf8')));
  }

  #endIn(chunk: Buffer, from: number): number {
    return this.#streamed ? chunk.indexOf(LINE_END, from) : -1;
  }

  #add(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#size <= (this.#streamed ? MAX_EVENT_BYTES : MAX_BODY_BYTES)) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  /** Returns and clears the assembled line; empty if it was too long. */
  #taken(): Buffer {
    const [only] = this.#pieces;
    const whole = only && this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#size = 0;
    return whole;
  }

  #line(): void {
    const line = this.#taken();
    if (!line.subarray(0, DATA.length).equals(DATA) || !this.#wanted(line)) return;
    this.#onEvent(parsed(line.toString('utf8', DATA.length).trim()));
  }
}
