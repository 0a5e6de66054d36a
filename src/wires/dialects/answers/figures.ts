import { field, finiteNumber, MAX_COUNT } from '../../json/value.ts';
import type { BilledTokens, ProviderUsage } from '../dialect.ts';

/** Parses paths of keys: `'message.usage usage'` yields two. */
export function paths(list: string): readonly (readonly string[])[] {
  return list.split(/\s+/).map((path) => path.split('.'));
}

/** Possible locations of token counts in an event or a whole answer, on all wires. Kimi puts some into a choice. */
const USAGE = paths('usage message.usage response.usage interaction.usage usageMetadata choices.0.usage x_groq.usage');
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
const BESIDE_INPUT = paths(
  'cache_read_input_tokens cache_creation_input_tokens cacheReadInputTokens cacheWriteInputTokens',
);

/** Token counts by figure; only reported ones. */
type Counts = { [Name in Figure]?: number };

function spellings(list: string): readonly (readonly (readonly string[])[])[] {
  return list.split(/\s+/).map((spelling) => spelling.split('+').map((path) => path.split('.')));
}

/** The value at a path of keys; `undefined` if there is none. One loop, because every event is asked for many paths. */
function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const key of path) {
    if (at === null || typeof at !== 'object') return undefined;
    at = (at as Readonly<Record<string, unknown>>)[key];
  }
  return at;
}

/** The values at those paths whose first key an object has. */
export function valuesAt(value: object, list: readonly (readonly string[])[]): unknown[] {
  const fields = value as Readonly<Record<string, unknown>>;
  const found: unknown[] = [];
  for (const path of list) {
    let at: unknown = fields[path[0] ?? ''];
    for (let i = 1; i < path.length && at !== undefined; i++) {
      at = at !== null && typeof at === 'object' ? (at as typeof fields)[path[i] ?? ''] : undefined;
    }
    if (at !== undefined) found.push(at);
  }
  return found;
}

/**
 * Collects the usage of an answer. Streams may report it in parts, as running totals, or followed by zeros, so the
 * largest value of each figure applies.
 */
export class UsageFigures {
  #most: Counts = {};
  /** All input tokens; `null` until reported. */
  #total: number | null = null;
  /** Further model calls within the request, such as a compaction by the provider. */
  #besides: Counts = {};
  /** Whether a reported count was implausibly large and therefore ignored. */
  isOdd = false;

  addFrom(event: object): void {
    for (const usage of valuesAt(event, USAGE)) this.add(usage);
  }

  add(usage: unknown): void {
    const counts = this.#plausible(countsIn(usage));
    if (Object.keys(counts).length === 0) return;
    this.#most = combined(this.#most, counts, Math.max);
    // an event without input complements an earlier one
    const total = inputOf(counts.input === undefined ? this.#most : counts, usage);
    if (total !== undefined) this.#total = Math.max(this.#total ?? 0, total);
    const calls = field(usage, 'iterations');
    if (!Array.isArray(calls)) return;
    const further = calls.filter((call) => field(call, 'type') === 'compaction');
    const sum = this.#plausible(further.map(countsIn).reduce((a, b) => combined(a, b, (x, y) => x + y), {}));
    this.#besides = combined(this.#besides, sum, Math.max);
  }

  #plausible(counts: Counts): Counts {
    for (const name in counts) {
      if ((counts[name as Figure] ?? 0) <= MAX_COUNT) continue;
      this.isOdd = true;
      delete counts[name as Figure];
    }
    return counts;
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
function inputOf({ input, output = 0, read = 0, written = 0 }: Counts, usage: unknown): number | undefined {
  if (input === undefined) return undefined;
  const cached = read + written;
  const isBeside =
    field(usage, 'prompt_tokens') === undefined &&
    valuesAt(Object(usage) as object, BESIDE_INPUT).some((count) => count !== null);
  // some gateways exclude cached tokens, contrary to the wire's definition
  const isShort = cached > 0 && (input < cached || field(usage, 'total_tokens') === input + cached + output);
  return isBeside || isShort ? input + cached : input;
}

/** Anthropic reports these calls, with an input that excludes cached tokens. */
function billed({ input = 0, output = 0, read = 0, written = 0, writtenLong = 0 }: Counts): BilledTokens {
  return { input: input + read + written, output, read, written, written1h: writtenLong };
}

function countsIn(usage: unknown): Counts {
  const counts: Counts = {};
  if (typeof usage !== 'object' || usage === null) return counts;
  const fields = usage as Readonly<Record<string, unknown>>;
  for (const name of NAMES) {
    for (const summands of FIGURES[name]) {
      let sum: number | null = null;
      for (const path of summands) {
        if (fields[path[0] ?? ''] === undefined) continue;
        const count = finiteNumber(valueAt(usage, path));
        if (count !== null) sum = (sum ?? 0) + Math.max(0, count);
      }
      if (sum !== null) counts[name] = Math.max(counts[name] ?? 0, sum);
    }
  }
  addReasoningBeside(counts, finiteNumber(field(usage, 'total_tokens')));
  // Google omits figures that are 0
  if (field(usage, 'promptTokenCount') !== undefined) counts.reasoning ??= 0;
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

function combined(a: Counts, b: Counts, combine: (x: number, y: number) => number): Counts {
  const counts: Counts = { ...a };
  for (const name of NAMES) if (b[name] !== undefined) counts[name] = combine(a[name] ?? 0, b[name]);
  return counts;
}
