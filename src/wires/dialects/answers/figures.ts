import { field, finiteNumber, MAX_COUNT } from '../../json/value.ts';
import type { BilledTokens, ProviderUsage } from '../dialect.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Fields of an event whose objects report what a whole answer reports. */
export const PARTS = ['message', 'response', 'interaction'] as const;
/** Further fields with an object that has token counts. */
/**
 * Possible names of each figure in the token counts, on all wires and including gateways that offer one provider on
 * another's wire. The largest value applies; `a+b` is a sum.
 */
const FIGURES = {
  input: spellings(
    `prompt_tokens input_tokens inputTokens promptTokenCount+toolUsePromptTokenCount
    total_input_tokens+total_tool_use_tokens`,
  ),
  output: spellings(
    `completion_tokens output_tokens outputTokens candidatesTokenCount+thoughtsTokenCount
    total_output_tokens+total_thought_tokens`,
  ),
  /** Input tokens read from a cache. */
  read: spellings(
    `prompt_tokens_details.cached_tokens input_tokens_details.cached_tokens cached_tokens prompt_cache_hit_tokens
    cache_read_input_tokens cacheReadInputTokens cachedContentTokenCount total_cached_tokens`,
  ),
  /** Input tokens written to a cache. */
  written: spellings(
    `prompt_tokens_details.cache_write_tokens prompt_tokens_details.cache_creation_tokens cache_creation_input_tokens
    input_tokens_details.cache_write_tokens cacheWriteInputTokens
    cache_creation.ephemeral_5m_input_tokens+cache_creation.ephemeral_1h_input_tokens`,
  ),
  /** Part of `written` with the longer of two lifetimes. */
  writtenLong: spellings(
    `cache_creation.ephemeral_1h_input_tokens prompt_tokens_details.cache_write_tokens_details.ttl_12h_tokens
    input_tokens_details.cache_write_tokens_details.ttl_12h_tokens`,
  ),
  /** Output tokens of hidden reasoning. */
  reasoning: spellings(
    `completion_tokens_details.reasoning_tokens output_tokens_details.reasoning_tokens
    output_tokens_details.thinking_tokens thoughtsTokenCount total_thought_tokens`,
  ),
} as const;
type Figure = keyof typeof FIGURES;
const NAMES = Object.keys(FIGURES) as Figure[];
/** Cache figures of Anthropic and Amazon's Converse, which are not included in the input. */
const BESIDE_INPUT = [
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
  'cacheReadInputTokens',
  'cacheWriteInputTokens',
] as const;

/** Token counts by figure; only reported ones. */
type Counts = { [Name in Figure]?: number };

function spellings(list: string): readonly (readonly (readonly string[])[])[] {
  return list.split(/\s+/).map((spelling) => spelling.split('+').map((path) => path.split('.')));
}

/**
 * Collects the usage of an answer. Streams may report it in parts, as running totals, or followed by zeros, so the
 * largest value of each figure applies.
 */
export class UsageFigures {
  #most: Counts = {};
  #isFirst = true;
  /** All input tokens; `null` until reported. */
  #total: number | null = null;
  /** Further model calls within the request, such as a compaction by the provider. */
  #besides: Counts = {};
  /** Whether a reported count was implausibly large and therefore ignored. */
  isOdd = false;

  /** Adds the token counts in an event, or in a whole answer. Kimi puts some into a choice. */
  addFrom(event: Fields): void {
    const { usage, usageMetadata, choices, x_groq: groq } = event;
    if (usage !== undefined) this.add(usage);
    for (const name of PARTS) {
      const part = event[name];
      if (typeof part === 'object' && part !== null && 'usage' in part) this.add(part.usage);
    }
    if (usageMetadata !== undefined) this.add(usageMetadata);
    const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
    if (typeof first === 'object' && first !== null && 'usage' in first) this.add(first.usage);
    if (typeof groq === 'object' && groq !== null && 'usage' in groq) this.add(groq.usage);
  }

  add(usage: unknown): void {
    if (typeof usage !== 'object' || usage === null) return;
    const counts = countsIn(usage as Fields);
    if (!this.#isPlausible(counts)) return;
    this.#most = this.#isFirst ? counts : combined(this.#most, counts, Math.max);
    this.#isFirst = false;
    // an event without input complements an earlier one
    const total = inputOf(counts.input === undefined ? this.#most : counts, usage as Fields);
    if (total !== undefined) this.#total = Math.max(this.#total ?? 0, total);
    const calls = (usage as Fields).iterations;
    if (Array.isArray(calls)) this.#addFurther(calls);
  }

  #addFurther(calls: readonly unknown[]): void {
    const further = calls.filter((call) => field(call, 'type') === 'compaction');
    const sum = further.map((call) => countsIn(Object(call) as Fields)).reduce((a, b) => combined(a, b, add), {});
    if (this.#isPlausible(sum)) this.#besides = combined(this.#besides, sum, Math.max);
  }

  /** Removes implausible counts. @returns whether any is left */
  #isPlausible(counts: Counts): boolean {
    let isEmpty = true;
    for (const name in counts) {
      if ((counts[name as Figure] ?? 0) <= MAX_COUNT) {
        isEmpty = false;
        continue;
      }
      this.isOdd = true;
      delete counts[name as Figure];
    }
    return !isEmpty;
  }

  /** The collected usage; `null` if nothing was reported. */
  sum(): ProviderUsage | null {
    const { output, read, written, writtenLong, reasoning } = this.#most;
    if (this.#total === null && output === undefined) return null;
    return {
      promptTokens: this.#total,
      completionTokens: output ?? null,
      cachedTokens: read ?? null,
      cacheWriteTokens: written,
      cacheWrite1hTokens: writtenLong,
      reasoningTokens: reasoning,
      besides: Object.keys(this.#besides).length === 0 ? undefined : billed(this.#besides),
    };
  }
}

/** All input tokens, cached or not. */
function inputOf({ input, output = 0, read = 0, written = 0 }: Counts, usage: Fields): number | undefined {
  if (input === undefined) return undefined;
  const cached = read + written;
  let isBeside = false;
  if (usage.prompt_tokens === undefined) for (const name of BESIDE_INPUT) isBeside ||= (usage[name] ?? null) !== null;
  // some gateways exclude cached tokens, contrary to the wire's definition
  const isShort = cached > 0 && (input < cached || usage.total_tokens === input + cached + output);
  return isBeside || isShort ? input + cached : input;
}

/** Anthropic reports these calls, with an input that excludes cached tokens. */
function billed({ input = 0, output = 0, read = 0, written = 0, writtenLong = 0 }: Counts): BilledTokens {
  return { input: input + read + written, output, read, written, written1h: writtenLong };
}

/** One loop, because each event with usage is asked for all spellings. */
function countsIn(usage: Fields): Counts {
  const counts: Counts = {};
  for (const name of NAMES) {
    for (const summands of FIGURES[name]) {
      let sum: number | null = null;
      for (const path of summands) {
        let count: unknown = usage[path[0] ?? ''];
        for (let i = 1; i < path.length && count !== undefined; i++) {
          count = count !== null && typeof count === 'object' ? (count as Fields)[path[i] ?? ''] : undefined;
        }
        if (typeof count === 'number' && Number.isFinite(count)) sum = (sum ?? 0) + Math.max(0, count);
      }
      if (sum !== null) counts[name] = Math.max(counts[name] ?? 0, sum);
    }
  }
  if (usage.total_tokens !== undefined) addReasoningBeside(counts, finiteNumber(usage.total_tokens));
  // Google omits figures that are 0
  if (usage.promptTokenCount !== undefined) counts.reasoning ??= 0;
  return counts;
}

/**
 * Adds reasoning that stands beside the completion: Grok, and Gemini on the chat wire, which may not name it. The total
 * shows it.
 */
function addReasoningBeside(counts: Counts, total: number | null): void {
  const { input, output, reasoning, read = 0, written = 0 } = counts;
  if (total === null || input === undefined || output === undefined) return;
  const beside = total - input - output;
  // cached tokens may stand beside the input as well
  const isReasoning = reasoning === undefined || reasoning === 0 ? beside !== read + written : beside === reasoning;
  if (beside <= 0 || !isReasoning) return;
  counts.output = output + beside;
  counts.reasoning = beside;
}

function add(x: number, y: number): number {
  return x + y;
}

function combined(a: Counts, b: Counts, combine: (x: number, y: number) => number): Counts {
  const counts: Counts = { ...a };
  for (const name of NAMES) if (b[name] !== undefined) counts[name] = combine(a[name] ?? 0, b[name]);
  return counts;
}
