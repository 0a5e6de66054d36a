import { createParser } from 'eventsource-parser';
import { BoundedJson, type OnCut } from './bounded-json.ts';

/** Chunks are read in batches, because most answers arrive in thousands of small ones. */
const BATCH_CHARS = 16 * 1024;
/** Maximum size of an incomplete event. Of a longer one, the last line is skimmed. */
const MAX_WAITING_CHARS = 64 * 1024;
/** Maximum size of a multi-line event; larger ones are dropped. */
const MAX_EVENT_CHARS = 256 * 1024;
/** Possible event terminators; a stream uses only one of them. */
const ENDS = ['\n\n', '\r\n\r\n', '\r\r'] as const;
const DATA = 'data:';
/**
 * Matches the field name of a line, perhaps after a byte order mark. Text without any is not parsed, because the parser
 * creates an error for each invalid line.
 */
const FIELD = /(?<![^\r\n\xbf])(?:data|event)(?![^:\r\n])/g;
const LF = 0x0a;
const CR = 0x0d;

/** Reads server-sent events in transit. Strings are bytes decoded as Latin-1. */
export class ServerSentEvents {
  readonly #placesIn: (events: string) => readonly number[];
  readonly #onCut: OnCut;
  readonly #parser;
  /** Received part of the next events. */
  #waiting = '';
  /** Length of `#waiting` when it was last read. */
  #seen = 0;
  /** Event terminator of this stream. */
  #end: (typeof ENDS)[number] = '\n\n';
  /** Whether the beginning of the next event has been parsed. */
  #isOpen = false;
  /** Content of a long line; `null` outside of one. */
  #long: BoundedJson | null = null;

  /**
   * @param placesIn - returns ascending offsets in a text; only events at these offsets are parsed
   * @param onCut - called for each string omitted from a long event
   */
  constructor(
    placesIn: (events: string) => readonly number[],
    onEvent: (name: string, data: string) => void,
    onCut: OnCut,
  ) {
    this.#placesIn = placesIn;
    this.#onCut = onCut;
    this.#parser = createParser({
      onEvent: ({ event = '', data }) => onEvent(event, data),
      onError: ({ type }) => type === 'max-buffer-size-exceeded' && this.#parser.reset(),
      maxBufferSize: MAX_EVENT_CHARS,
    });
  }

  data(bytes: Buffer): void {
    this.#waiting += this.#long ? this.#afterLong(this.#long, bytes) : bytes.toString('latin1');
    if (this.#waiting.length - this.#seen >= BATCH_CHARS) this.read();
  }

  read(): void {
    const text = this.#waiting;
    if (!text.includes(this.#end)) this.#end = ENDS.find((kind) => text.includes(kind)) ?? this.#end;
    const end = text.lastIndexOf(this.#end);
    const length = end < 0 ? 0 : end + this.#end.length;
    this.#parse(text.slice(0, length));
    this.#waiting = text.slice(length);
    if (this.#waiting.length > MAX_WAITING_CHARS) this.#beginLong(this.#waiting);
    this.#seen = this.#waiting.length;
  }

  /** Ends the answer; an unterminated event counts. */
  end(): void {
    this.read();
    this.#long?.end();
    this.#parse(this.#waiting);
    this.#parser.feed('\n\n');
  }

  #parse(text: string): void {
    const places = this.#placesIn(text);
    let parsedTo = 0;
    for (const at of this.#isOpen ? [0, ...places] : places) {
      if (at < parsedTo) continue;
      const before = at === 0 ? -1 : text.lastIndexOf(this.#end, at - 1);
      const end = text.indexOf(this.#end, at);
      const from = Math.max(parsedTo, before < 0 ? 0 : before + this.#end.length);
      parsedTo = end < 0 ? text.length : end + this.#end.length;
      this.#parser.feed(text.slice(from, parsedTo));
    }
    this.#isOpen = false;
  }

  /** Parses all but the last line of an event that is too long to buffer. */
  #beginLong(event: string): void {
    const line = Math.max(event.lastIndexOf('\n'), event.lastIndexOf('\r')) + 1;
    if (event.slice(0, line).search(FIELD) >= 0) this.#parser.feed(event.slice(0, line));
    this.#isOpen = true;
    this.#waiting = event.slice(line);
    if (this.#waiting.length <= DATA.length) return;
    const isData = this.#waiting.startsWith(DATA);
    this.#long = new BoundedJson((json) => isData && this.#parser.feed(`data: ${json}\n\n`), this.#onCut);
    this.#long.data(Buffer.from(this.#waiting.slice(DATA.length), 'latin1'));
    this.#waiting = '';
  }

  /** @returns the bytes after the long line, as Latin-1 */
  #afterLong(long: BoundedJson, bytes: Buffer): string {
    const end = bytes.findIndex((byte) => byte === LF || byte === CR);
    long.data(end < 0 ? bytes : bytes.subarray(0, end));
    if (end < 0) return '';
    long.end();
    this.#long = null;
    return bytes.toString('latin1', end);
  }
}
