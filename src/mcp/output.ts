import { constants } from 'node:buffer';

/**
 * Most characters that the text of one answer may take on the wire. Every client reads an answer as one line, so a line
 * that is longer than a JavaScript string can be is lost as a whole; the rest is room for the message around the text.
 */
const MAX_WIRE_CHARS = constants.MAX_STRING_LENGTH - 1024 * 1024;

/** What a byte of UTF-8 costs at most as part of a JSON string, in characters. */
const WIRE_COST = Uint8Array.from({ length: 256 }, (_, byte) => {
  if ('"\\\b\t\n\f\r'.includes(String.fromCharCode(byte))) return 2;
  return byte < 0x20 ? 6 : 1;
});

/** Room for output on the wire, shared by all streams of one call. */
export class WireBudget {
  #left: number;

  constructor(chars = MAX_WIRE_CHARS) {
    this.#left = chars;
  }

  /** Takes room for the bytes, or for as many of them as still fit. @returns how many do */
  take(bytes: Uint8Array): number {
    let cost = 0;
    for (let i = 0; i < bytes.length; i++) {
      const next = cost + (WIRE_COST[bytes[i] ?? 0] ?? 0);
      if (next > this.#left) {
        this.#left = 0; // what comes later must not slip in behind a gap
        return i;
      }
      cost = next;
    }
    this.#left -= cost;
    return bytes.length;
  }
}

/** Output as it comes, kept outside the JavaScript heap until it is a text; what fits no answer is counted and let go. */
export class OutputCollector {
  readonly #budget: WireBudget;
  #chunks: Buffer[] = [];
  #dropped = 0;

  constructor(budget: WireBudget) {
    this.#budget = budget;
  }

  add(chunk: Buffer): void {
    const kept = this.#budget.take(chunk);
    if (kept > 0) this.#chunks.push(kept === chunk.length ? chunk : chunk.subarray(0, kept));
    this.#dropped += chunk.length - kept;
  }

  /** Bytes that were let go. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Hands the text over, decoded as UTF-8, and forgets it. */
  takeText(): string {
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    return bytes.toString('utf8');
  }
}

/**
 * The line that tells of dropped bytes; empty when there are none.
 *
 * @param counted - whether they are all that were dropped
 */
export function cutNote(droppedBytes: number, counted = true): string {
  if (droppedBytes === 0) return '';
  const rest = counted ? `${droppedBytes} bytes more do` : 'the rest does';
  return `\n[mcp-pruner: cut here, ${rest} not fit into one answer]`;
}
