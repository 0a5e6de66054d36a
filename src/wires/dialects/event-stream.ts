/** Size of the prelude: message length, header length and checksum. */
const PRELUDE_BYTES = 12;
const CHECKSUM_BYTES = 4;
/** The format allows 16 MiB of payload and 128 KiB of headers; larger lengths are invalid. */
const MAX_MESSAGE_BYTES = 17 * 1024 * 1024;
/** Longer messages contain nothing of interest and are skipped. */
const MAX_KEPT_BYTES = 1024 * 1024;
/** Sizes of header values by type, in bytes; -1 for byte arrays and strings, which are length-prefixed. */
const FIXED_BYTES: readonly number[] = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16];
const STRING = 7;
/** Headers that contain the type of an event or an error. */
const TYPES = [':event-type', ':exception-type'];

/**
 * Parses a stream of messages in the binary format of AWS (`application/vnd.amazon.eventstream`) in transit. Keeps at
 * most one message, and stops at the first broken one. Source:
 * https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html
 */
export class EventStream {
  readonly #onEvent: (type: string, payload: Buffer) => void;
  #pieces: Buffer[] = [];
  #size = 0;
  /** Remaining bytes of a skipped message. */
  #skip = 0;
  #broken = false;

  /**
   * @param onEvent - called with the `:event-type` or `:exception-type` of each message, `''` if it has none, and its
   * payload
   */
  constructor(onEvent: (type: string, payload: Buffer) => void) {
    this.#onEvent = onEvent;
  }

  data(chunk: Buffer): void {
    const skipped = Math.min(this.#skip, chunk.length);
    this.#skip -= skipped;
    if (this.#broken || skipped === chunk.length) return;
    this.#pieces.push(chunk.subarray(skipped));
    this.#size += chunk.length - skipped;
    if (this.#size >= this.#bytesNeeded()) this.#take();
  }

  /** Number of bytes needed before something can be read. */
  #bytesNeeded(): number {
    const [first] = this.#pieces;
    return first && first.length >= 4 ? Math.min(first.readUInt32BE(0), MAX_KEPT_BYTES) : PRELUDE_BYTES;
  }

  #take(): void {
    let bytes = Buffer.concat(this.#pieces);
    while (!this.#broken && bytes.length >= PRELUDE_BYTES) {
      const total = bytes.readUInt32BE(0);
      const headers = bytes.readUInt32BE(4);
      this.#broken = total > MAX_MESSAGE_BYTES || total < PRELUDE_BYTES + headers + CHECKSUM_BYTES;
      if (this.#broken) break;
      if (bytes.length < total) {
        if (total <= MAX_KEPT_BYTES) break;
        this.#skip = total - bytes.length;
        bytes = bytes.subarray(bytes.length);
        break;
      }
      const payload = bytes.subarray(PRELUDE_BYTES + headers, total - CHECKSUM_BYTES);
      this.#onEvent(eventType(bytes.subarray(PRELUDE_BYTES, PRELUDE_BYTES + headers)), payload);
      bytes = bytes.subarray(total);
    }
    this.#pieces = this.#broken || bytes.length === 0 ? [] : [bytes];
    this.#size = this.#broken ? 0 : bytes.length;
  }
}

function eventType(headers: Buffer): string {
  let at = 0;
  while (at < headers.length) {
    const nameEnd = at + 1 + (headers[at] ?? 0);
    const name = headers.toString('latin1', at + 1, nameEnd);
    const type = headers[nameEnd] ?? 0;
    const fixed = FIXED_BYTES[type];
    if (fixed === undefined || nameEnd + 3 > headers.length) return '';
    const value = nameEnd + 1 + (fixed < 0 ? 2 : 0);
    const end = value + (fixed < 0 ? headers.readUInt16BE(nameEnd + 1) : fixed);
    if (TYPES.includes(name) && type === STRING) return headers.toString('utf8', value, end);
    at = end;
  }
  return '';
}
