import type { AnswerReader, AnswerTurn, ProviderUsage } from './dialect.ts';

/**
 * The usage is at the end of an answer, streamed or whole; only the last chunks, with at least this many bytes, are
 * searched.
 */
const TAIL_BYTES = 16 * 1024;

/** Finds the usage at the end of an answer, on wires that report it under one key. */
export class TailUsage implements AnswerReader {
  readonly #key: Buffer;
  readonly #usageOf: (value: unknown) => ProviderUsage | null;
  readonly #chunks: Buffer[] = [];
  #size = 0;

  /**
   * @param key - the key of the object that contains the counts, with its quotes
   * @param usageOf - reads that object
   */
  constructor(key: Buffer, usageOf: (value: unknown) => ProviderUsage | null) {
    this.#key = key;
    this.#usageOf = usageOf;
  }

  data(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    for (let first = this.#chunks[0]; first && this.#size - first.length >= TAIL_BYTES; first = this.#chunks[0]) {
      this.#size -= first.length;
      this.#chunks.shift();
    }
  }

  usage(): ProviderUsage | null {
    const [only] = this.#chunks;
    try {
      const value = lastObject(only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks), this.#key);
      return value === undefined ? null : this.#usageOf(value);
    } catch {
      return null;
    }
  }

  turn(): AnswerTurn | null {
    return null;
  }
}

/** Reads the last object under a key in a JSON or SSE answer; `undefined` where there is none. */
function lastObject(bytes: Buffer, key: Buffer): unknown {
  for (let at = bytes.lastIndexOf(key); at >= 0; at = at > 0 ? bytes.lastIndexOf(key, at - 1) : -1) {
    const open = objectBehind(bytes, at + key.length);
    if (open < 0) continue; // every event but the last has `"usage": null`
    const close = closing(bytes, open);
    if (close < 0) continue;
    return JSON.parse(bytes.toString('utf8', open, close + 1)) as unknown;
  }
  return undefined;
}

/** The offset of the object that follows a key ending at `at`, or -1 if no object follows. */
function objectBehind(bytes: Buffer, at: number): number {
  for (let i = at; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === 0x7b) return i;
    if (byte !== 0x3a && byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return -1;
  }
  return -1;
}

function closing(bytes: Buffer, open: number): number {
  let depth = 0;
  for (let i = open; i < Math.min(bytes.length, open + 4_000); i++) {
    if (bytes[i] === 0x7b) depth++;
    else if (bytes[i] === 0x7d && --depth === 0) return i;
  }
  return -1;
}
