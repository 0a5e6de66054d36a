/** Longest event that is put together; a longer one holds nothing that is looked for, and is passed over. */
const MAX_EVENT_BYTES = 1024 * 1024;

const LINE_END = 0x0a;

/**
 * Takes a stream of server-sent events apart as it goes by and hands over the data of those that are wanted. It holds one
 * line at the most.
 */
export class EventData {
  readonly #wanted: (line: Buffer) => boolean;
  readonly #onData: (data: string) => void;
  #pieces: Buffer[] = [];
  #size = 0;

  /**
   * @param wanted - whether a line `data: …` is worth decoding; it is shown the line's first bytes
   * @param onData - told of what stands behind `data:`
   */
  constructor(wanted: (line: Buffer) => boolean, onData: (data: string) => void) {
    this.#wanted = wanted;
    this.#onData = onData;
  }

  data(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, from)) {
      this.#add(chunk.subarray(from, end));
      this.#line();
      from = end + 1;
    }
    if (from < chunk.length) this.#add(chunk.subarray(from));
  }

  /** The stream is over; a line without an end counts. */
  end(): void {
    this.#line();
  }

  #add(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#size <= MAX_EVENT_BYTES) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  #line(): void {
    const [only] = this.#pieces;
    const whole =
      this.#size > MAX_EVENT_BYTES ? null : only && this.#pieces.length === 1 ? only : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#size = 0;
    if (whole === null || !whole.subarray(0, DATA.length).equals(DATA) || !this.#wanted(whole)) return;
    this.#onData(whole.toString('utf8', DATA.length).trim());
  }
}

const DATA = Buffer.from('data:');
