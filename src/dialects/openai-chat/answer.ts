import type { AnswerReader, AnswerTurn, ProviderUsage } from '../dialect.ts';
import { count, field } from '../json-value.ts';

/** `usage` stands at the end of an answer, streamed or whole: only so much of it is looked at. */
const TAIL_BYTES = 16 * 1024;

/** Finds the `usage` of a chat completion. */
export class ChatAnswer implements AnswerReader {
  readonly #chunks: Buffer[] = [];
  #size = 0;

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
      return lastUsage(only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks));
    } catch {
      return null;
    }
  }

  turn(): AnswerTurn | null {
    return null;
  }
}

/** Reads the last `"usage": {…}` in a JSON or SSE answer. */
function lastUsage(bytes: Buffer): ProviderUsage | null {
  for (let at = bytes.lastIndexOf(USAGE); at >= 0; at = at > 0 ? bytes.lastIndexOf(USAGE, at - 1) : -1) {
    const open = objectBehind(bytes, at + USAGE.length);
    if (open < 0) continue; // `"usage": null` stands in every event but the last
    const close = closing(bytes, open);
    if (close < 0) continue;
    const value: unknown = JSON.parse(bytes.toString('utf8', open, close + 1));
    return usageOf(value);
  }
  return null;
}

const USAGE = Buffer.from('"usage"');

/** Where the object begins that is the value of a key which ends at `at`, or -1. */
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

function usageOf(value: unknown): ProviderUsage | null {
  if (value === null || typeof value !== 'object') return null;
  const details = field(value, 'prompt_tokens_details');
  const written = count(field(details, 'cache_write_tokens'));
  return {
    promptTokens: count(field(value, 'prompt_tokens')),
    completionTokens: count(field(value, 'completion_tokens')),
    ...(written !== null && { cacheWriteTokens: written }),
    cachedTokens: count(field(details, 'cached_tokens')) ?? count(field(value, 'prompt_cache_hit_tokens')),
  };
}
