import { constants } from 'node:buffer';

/**
 * Maximum length of an answer's text on the wire. Clients read an answer as one line, which is lost if it exceeds the
 * maximum string length. The subtracted part leaves room for the surrounding message.
 */
const MAX_WIRE_CHARS = constants.MAX_STRING_LENGTH - 1024 * 1024;

/** Maximum number of characters that a UTF-8 byte takes in a JSON string. */
const WIRE_COST = Uint8Array.from({ length: 256 }, (_, byte) => {
  if ('"\\\b\t\n\f\r'.includes(String.fromCharCode(byte))) return 2;
  return byte < 0x20 ? 6 : 1;
});

/** Remaining wire characters of one call, shared by all its streams. */
export class WireBudget {
  #left: number;

  constructor(chars = MAX_WIRE_CHARS) {
    this.#left = chars;
  }

  /** Reserves room for as many bytes as fit. @returns their number */
  take(bytes: Uint8Array): number {
    let cost = 0;
    for (let i = 0; i < bytes.length; i++) {
      const next = cost + (WIRE_COST[bytes[i] ?? 0] ?? 0);
      if (next > this.#left) {
        this.#left = 0; // later output must not follow a gap
        return i;
      }
      cost = next;
    }
    this.#left -= cost;
    return bytes.length;
  }
}

/** Collects output outside the JavaScript heap. Bytes beyond the budget are counted and dropped. */
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

  get dropped(): number {
    return this.#dropped;
  }

  /** Returns the text, decoded as UTF-8, and releases the memory. */
  takeText(): string {
    const bytes = Buffer.concat(this.#chunks);
    this.#chunks = [];
    return bytes.toString('utf8');
  }
}

/**
 * A line that reports dropped bytes; empty if there are none.
 *
 * @param counted - whether the count is complete
 */
export function cutNote(droppedBytes: number, counted = true): string {
  if (droppedBytes === 0) return '';
  const rest = counted ? `${droppedBytes} bytes more do` : 'the rest does';
  return `\n[mcp-pruner: cut here, ${rest} not fit into one answer]`;
}
