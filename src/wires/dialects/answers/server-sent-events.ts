import { createParser } from 'eventsource-parser';
import { BoundedJson, type OnCut } from './bounded-json.ts';

/** Maximum size of a line that waits for its end, in bytes. A longer one is collected apart, and skimmed. */
const MAX_LINE_BYTES = 16 * 1024;
/** Maximum size of an event of many lines, in bytes; a larger one is dropped. */
const MAX_EVENT_BYTES = 256 * 1024;

const LF = 0x0a;
const CR = 0x0d;
const DATA = Buffer.from('data:');

/** Parses server-sent events in transit. Texts are the bytes as Latin-1. */
export class ServerSentEvents {
  readonly #parser;
  /** A line without its end so far. */
  #rest: Buffer[] = [];
  #restBytes = 0;
  /** The data of a long line. */
  #long: BoundedJson | null = null;
  #longData = '';
  readonly #onCut: OnCut;

  constructor(onEvent: (name: string, data: string) => void, onCut: OnCut) {
    this.#onCut = onCut;
    this.#parser = createParser({
      onEvent: ({ event = '', data }) => onEvent(event, data),
      onError: ({ type }) => type === 'max-buffer-size-exceeded' && this.#parser.reset(),
      maxBufferSize: MAX_EVENT_BYTES,
    });
  }

  data(bytes: Buffer): void {
    const from = this.#long ? this.#continueLong(this.#long, bytes) : 0;
    const end = Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1;
    if (end > from) {
      this.#rest.push(bytes.subarray(from, end));
      this.#parser.feed(this.#takeRest().toString('latin1'));
    }
    const rest = bytes.subarray(Math.max(from, end));
    if (rest.length === 0) return;
    this.#rest.push(rest);
    this.#restBytes += rest.length;
    if (this.#restBytes > MAX_LINE_BYTES) this.#beginLong(this.#takeRest());
  }

  /** The answer is over; an event without an end counts. */
  end(): void {
    if (this.#long) this.#endLong(this.#long);
    this.#parser.feed(`${this.#takeRest().toString('latin1')}\n\n`);
  }

  #takeRest(): Buffer {
    const [only] = this.#rest;
    const rest = only && this.#rest.length === 1 ? only : Buffer.concat(this.#rest);
    this.#rest = [];
    this.#restBytes = 0;
    return rest;
  }

  #beginLong(line: Buffer): void {
    const isData = line.subarray(0, DATA.length).equals(DATA);
    this.#longData = '';
    this.#long = new BoundedJson((json) => {
      if (isData) this.#longData = json;
    }, this.#onCut);
    this.#long.add(line.subarray(DATA.length));
  }

  /** @returns the number of bytes that belong to the line */
  #continueLong(long: BoundedJson, bytes: Buffer): number {
    const ends = [bytes.indexOf(LF), bytes.indexOf(CR)].filter((end) => end >= 0);
    const end = Math.min(bytes.length, ...ends);
    long.add(bytes.subarray(0, end));
    if (ends.length > 0) this.#endLong(long);
    return end;
  }

  #endLong(long: BoundedJson): void {
    long.end();
    this.#long = null;
    if (this.#longData !== '') this.#parser.feed(`data: ${this.#longData}`);
  }
}
