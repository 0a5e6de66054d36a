import { field, finiteNumber } from '../../json/value.ts';
import type { AnswerReader, AnswerTurn, ProviderUsage } from '../dialect.ts';
import { EventData } from '../sse.ts';

/** The first bytes of an event, which name its type. */
const TYPE_BYTES = 64;

/**
 * Reads the usage of an answer of the messages wire, and the number of dropped blocks. Input tokens are in the first
 * event, output tokens in the last.
 */
export class MessagesAnswer implements AnswerReader {
  readonly #events = new EventData(hasUsage, (value) => this.#event(value));
  #usage: Readonly<Record<string, unknown>> | null = null;
  #dropped = 0;

  data(chunk: Buffer): void {
    this.#events.data(chunk);
  }

  usage(): ProviderUsage | null {
    this.#events.end();
    if (this.#usage === null && this.#dropped === 0) return null;
    return { ...usageOf(this.#usage ?? {}), droppedBlocks: this.#dropped || undefined };
  }

  turn(): AnswerTurn | null {
    return null; // clients of this wire repeat the conversation themselves
  }

  /** `message_start` contains a message with its usage; `message_delta` and a whole answer contain a usage. */
  #event(value: unknown): void {
    this.#dropped += droppedIn(value) + droppedIn(field(value, 'message'));
    const usage = field(value, 'usage') ?? field(field(value, 'message'), 'usage');
    if (usage === null || typeof usage !== 'object') return;
    const reported = Object.entries(usage).filter(([, figure]) => figure !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(reported) };
  }
}

/** The provider's name for dropping a block because its history was changed. */
const MISMATCH = 'prefix_binding_mismatch';

/** Number of reported input changes with that reason. */
function droppedIn(message: unknown): number {
  const reported = field(message, 'input_transformations');
  return Array.isArray(reported) ? reported.filter((one) => JSON.stringify(one ?? null).includes(MISMATCH)).length : 0;
}

function hasUsage(line: Buffer): boolean {
  const type = line.toString('latin1', 0, TYPE_BYTES);
  return type.includes('message_start') || type.includes('message_delta');
}

/** Input tokens are the sum of uncached, cache-write and cache-read tokens. */
function usageOf(usage: Readonly<Record<string, unknown>>): ProviderUsage {
  const fresh = finiteNumber(usage.input_tokens);
  const cachedTokens = finiteNumber(usage.cache_read_input_tokens);
  const cacheWriteTokens = finiteNumber(usage.cache_creation_input_tokens);
  const promptTokens = fresh === null ? null : fresh + (cachedTokens ?? 0) + (cacheWriteTokens ?? 0);
  const cacheWrite1hTokens = finiteNumber(field(usage.cache_creation, 'ephemeral_1h_input_tokens'));
  const completionTokens = finiteNumber(usage.output_tokens);
  return {
    promptTokens,
    completionTokens,
    cachedTokens,
    cacheWriteTokens,
    cacheWrite1hTokens: cacheWrite1hTokens ?? undefined,
  };
}
