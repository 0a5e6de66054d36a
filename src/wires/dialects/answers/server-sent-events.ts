import { BoundedJson, type OnCut } from './bounded-json.ts';

/** Chunks are read together, because most answers arrive in thousands of small ones. */
const BATCH_CHARS = 16 * 1024;
/** Maximum size of an event that waits for its end; a longer one is skimmed as it arrives. */
const MAX_WAITING_CHARS = 64 * 1024;
/** How an event ends; a stream uses one of them. */
const ENDS = ['\n\n', '\r\n\r\n', '\r\r'] as const;
const LINE_END = /\r\n|\r|\n/;
const DATA = 'data:';
const NAME = 'event:';
/** The end of a text that may belong to the end of an event, or to the name of a field. */
const OPEN_LINE = /[\r\n]{1,4}[^\r\n]{0,5}$/;

/** Reads server-sent events in transit. Texts are the bytes as Latin-1. */
export class ServerSentEvents {
  readonly #placesIn: (events: string) => readonly number[];
  readonly #onEvent: (name: string, data: string) => void;
  readonly #onCut: OnCut;
  /** What has arrived of the next events. */
  #waiting = '';
  /** Its length when it was last read. */
  #seen = 0;
  #end: (typeof ENDS)[number] = '\n\n';
  #name = '';
  /** The data of an event that is too long to wait for its end. */
  #long: BoundedJson | null = null;
  /** The line of it that arrives is data. */
  #isData = false;

  /**
   * @param placesIn - places in a text, ascending, whose events are of interest: only those are parsed
   * @param onCut - called for each string that is left out of a long event
   */
  constructor(
    placesIn: (events: string) => readonly number[],
    onEvent: (name: string, data: string) => void,
    onCut: OnCut,
  ) {
    this.#placesIn = placesIn;
    this.#onEvent = onEvent;
    this.#onCut = onCut;
  }

  data(bytes: Buffer): void {
    this.#waiting += bytes.toString('latin1');
    if (this.#waiting.length - this.#seen >= BATCH_CHARS) this.read();
  }

  /** Reads the events that are complete. */
  read(): void {
    if (!this.#waiting.includes(this.#end)) this.#end = ENDS.find((end) => this.#waiting.includes(end)) ?? this.#end;
    if (this.#long) this.#endLong(this.#long, this.#waiting.indexOf(this.#end));
    const last = this.#waiting.lastIndexOf(this.#end);
    const length = last < 0 ? 0 : last + this.#end.length;
    this.#parse(this.#waiting.slice(0, length));
    this.#waiting = this.#waiting.slice(length);
    if (!this.#long && this.#waiting.length > MAX_WAITING_CHARS) this.#beginLong();
    if (this.#long) {
      const open = this.#waiting.search(OPEN_LINE);
      const known = open < 0 ? this.#waiting.length : open;
      this.#addTo(this.#long, this.#waiting.slice(0, known));
      this.#waiting = this.#waiting.slice(known);
    }
    this.#seen = this.#waiting.length;
  }

  /** The answer is over; an event without an end counts. */
  end(): void {
    this.read();
    if (this.#long) this.#endLong(this.#long, this.#waiting.length);
    this.#parse(this.#waiting);
  }

  #parse(text: string): void {
    let parsedTo = 0;
    for (const at of this.#placesIn(text)) {
      if (at < parsedTo) continue;
      const before = at === 0 ? -1 : text.lastIndexOf(this.#end, at - 1);
      const end = text.indexOf(this.#end, at);
      parsedTo = end < 0 ? text.length : end;
      const data: string[] = [];
      this.#name = '';
      for (const line of text.slice(before < 0 ? 0 : before + this.#end.length, parsedTo).split(LINE_END))
        if (this.#hasData(line)) data.push(line.slice(DATA.length));
      if (data.length > 0) this.#onEvent(this.#name, data.join('\n'));
    }
  }

  #beginLong(): void {
    this.#name = '';
    this.#isData = false;
    this.#long = new BoundedJson((json) => this.#onEvent(this.#name, json), this.#onCut);
    this.#waiting = `\n${this.#waiting}`;
  }

  /** @param end - where it ends in what has arrived; -1: not yet */
  #endLong(long: BoundedJson, end: number): void {
    if (end < 0) return;
    this.#addTo(long, this.#waiting.slice(0, end));
    long.end();
    this.#long = null;
    this.#waiting = this.#waiting.slice(end + this.#end.length);
  }

  /** Adds a part of a long event, which begins where the last one ended. */
  #addTo(long: BoundedJson, text: string): void {
    if (!this.#isData && !text.includes(DATA)) return;
    for (const [i, line] of text.split(LINE_END).entries()) {
      if (i > 0) this.#isData = this.#hasData(line);
      if (this.#isData) long.data(Buffer.from(i > 0 ? line.slice(DATA.length) : line, 'latin1'));
    }
  }

  /** Whether a line is data; if it is the name of the event, notes it. */
  #hasData(line: string): boolean {
    if (line.startsWith(NAME)) this.#name = line.slice(NAME.length).trim();
    return line.startsWith(DATA);
  }
}
