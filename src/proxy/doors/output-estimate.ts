/** Estimate of the tokens in a text. */
const BYTES_PER_TOKEN = 4;
/** Events below this size carry no text: pings, and the mark of the end. */
const MIN_EVENT_BYTES = 48;
const LINE_END = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Estimates the output of an answer from its bytes. An event of a stream has an envelope that is many times as large as
 * its text, so the smallest event is taken as the envelope of all.
 */
export class OutputEstimate {
  #bytes = 0;
  #events = 0;
  #eventBytes = 0;
  #smallest = Number.POSITIVE_INFINITY;
  /** Sizes of the unfinished event and of its unfinished line. */
  #event = 0;
  #line = 0;

  take(bytes: Buffer): void {
    this.#bytes += bytes.length;
    let from = 0;
    for (let at = bytes.indexOf(LINE_END); at >= 0; at = bytes.indexOf(LINE_END, from)) {
      const isCrLf = at > from && bytes[at - 1] === CARRIAGE_RETURN;
      const isBlank = this.#line + at - from - (isCrLf ? 1 : 0) === 0;
      this.#event += at + 1 - from;
      this.#line = 0;
      from = at + 1;
      if (isBlank) this.#end();
    }
    this.#event += bytes.length - from;
    this.#line += bytes.length - from;
  }

  #end(): void {
    if (this.#event >= MIN_EVENT_BYTES) {
      this.#events++;
      this.#eventBytes += this.#event;
      this.#smallest = Math.min(this.#smallest, this.#event);
    }
    this.#event = 0;
  }

  /** Tokens; at least one for each event of a stream. */
  tokens(isStream: boolean): number {
    if (!isStream || this.#events === 0) return Math.ceil(this.#bytes / BYTES_PER_TOKEN);
    return this.#events + Math.ceil((this.#eventBytes - this.#events * this.#smallest) / BYTES_PER_TOKEN);
  }
}
