import type { Message, Recording, Usage } from '../recordings/conversation.ts';
import { callsIn, contentOf } from './shown.ts';

/** What a cached token costs, and one that is written to the cache, for five minutes and for an hour; input is 1. */
const CACHED = 0.1;
const WRITTEN = 1.25;
const WRITTEN_1H = 2;

/** Where contexts are taken to be compacted, in tokens, and what they begin with again beside the system prompt. */
export const LIMITS = [160_000, 200_000, 245_000, 450_000, 967_000] as const;
const COMPACTED = 8_000;

/** A call of `recover_text` and its answer, for one line. */
const RECOVERY_OUTPUT = 60;
const RECOVERY_INPUT = 150;

/** What one conversation costs, in input tokens at the full price, without and with its cuts. */
export interface RealBill {
  readonly requests: number;
  readonly before: number;
  readonly after: number;
  /** By message: what it costs over all requests, and what its cuts save of that. */
  readonly costBy: ReadonlyMap<number, { readonly cost: number; readonly saved: number }>;
  /** What one recovery costs at an answer, by its index. */
  readonly recoveryAt: (at: number) => number;
  readonly peakBefore: number;
  readonly peakAfter: number;
  /** Simulated, by limit. */
  readonly compactionsBefore: readonly number[];
  readonly compactionsAfter: readonly number[];
}

function inputOf({ fresh, read, written }: Usage): number {
  return fresh + read + written;
}

function costOf(usage: Usage, outputPrice: number): number {
  const short = usage.written - usage.written1h;
  return (
    usage.fresh + CACHED * usage.read + WRITTEN * short + WRITTEN_1H * usage.written1h + outputPrice * usage.output
  );
}

/** What a token at a place of the prompt cost: the prompt is read from the cache first, then written to it, then fresh. */
function priceAt(place: number, { read, written, written1h }: Usage): number {
  if (place < read) return CACHED;
  if (place >= read + written) return 1;
  return WRITTEN + ((WRITTEN_1H - WRITTEN) * written1h) / Math.max(1, written);
}

/** Characters of a message as they count for its tokens. */
function charsOf(message: Message): number {
  return (
    contentOf(message).length + callsIn(message).reduce((sum, { name, args }) => sum + name.length + args.length, 0)
  );
}

/** Sums of characters before each message. */
function sumsOf(messages: readonly Message[]): number[] {
  const sums = [0];
  for (const message of messages) sums.push((sums.at(-1) ?? 0) + charsOf(message));
  return sums;
}

/** Shorter messages are never cut, and are not looked at one by one. */
const LEAST_CHARS = 600;

/** A step brings so many characters of results and words at least to show how many make a token. */
const SIGNIFICANT_CHARS = 1_000;
/** No tokeniser puts fewer or more characters into a token over a whole step: such steps bring images, or lose history. */
const FEWEST = 1.4;
const MOST = 7;

/** The session's own characters per token, from what each request brought that the one before had not. */
export function charsPerToken({ messages, usage = [] }: Recording, fallback: number): number {
  const sums = sumsOf(messages);
  let chars = 0;
  let tokens = 0;
  for (const [k, one] of usage.entries()) {
    const before = usage[k - 1];
    if (before === undefined) continue;
    const brought = (sums[one.at] ?? 0) - (sums[before.at + 1] ?? 0);
    const grown = inputOf(one) - inputOf(before) - before.output;
    if (brought < SIGNIFICANT_CHARS || grown <= 0 || brought / grown < FEWEST || brought / grown > MOST) continue;
    chars += brought;
    tokens += grown;
  }
  return tokens === 0 ? fallback : chars / tokens;
}

/**
 * What a recording with usage cost, and what it would have cost as it was sent with cuts. A result that lies before the beginning
 * of a prompt was taken back by the client (compacted or cleared): its cuts save nothing there.
 */
export function realBillOf(recording: Recording, sent: readonly Message[], perToken: number): RealBill {
  const { messages, usage = [], outputPrice = 5 } = recording;
  const sums = sumsOf(messages);
  const results = messages.flatMap((message, i) => {
    const chars = contentOf(message).length;
    const gone = chars - contentOf(sent[i] ?? message).length;
    return chars < LEAST_CHARS ? [] : [{ i, tokens: chars / perToken, gone: gone / perToken }];
  });
  const costBy = new Map<number, { cost: number; saved: number }>();
  const sizesBefore: number[] = [];
  const sizesAfter: number[] = [];
  let before = 0;
  let saved = 0;
  for (const one of usage) {
    const input = inputOf(one);
    before += costOf(one, outputPrice);
    let gone = 0;
    for (const result of results) {
      const { i } = result;
      if (i >= one.at) break;
      const place = input - ((sums[one.at] ?? 0) - ((sums[i] ?? 0) + (sums[i + 1] ?? 0)) / 2) / perToken;
      if (place < 0) continue;
      const price = priceAt(place, one);
      const known = costBy.get(i) ?? { cost: 0, saved: 0 };
      costBy.set(i, { cost: known.cost + price * result.tokens, saved: known.saved + price * result.gone });
      saved += price * result.gone;
      gone += result.gone;
    }
    sizesBefore.push(input);
    sizesAfter.push(input - gone);
  }
  const head = Math.max(0, (sizesBefore[0] ?? 0) - (sums[usage[0]?.at ?? 0] ?? 0) / perToken);
  const byAnswer = new Map(usage.map((one, k) => [one.at, sizesAfter[k] ?? 0]));
  return {
    requests: usage.length,
    before,
    after: before - saved,
    costBy,
    recoveryAt: (at) =>
      CACHED * (byAnswer.get(at) ?? sizesAfter.at(-1) ?? 0) + outputPrice * RECOVERY_OUTPUT + WRITTEN * RECOVERY_INPUT,
    peakBefore: Math.max(0, ...sizesBefore),
    peakAfter: Math.max(0, ...sizesAfter),
    compactionsBefore: LIMITS.map((limit) => compactions(sizesBefore, limit, head)),
    compactionsAfter: LIMITS.map((limit) => compactions(sizesAfter, limit, head)),
  };
}

/**
 * How often a context of these sizes would pass a limit, if it began anew each time at its system prompt and 8,000 tokens.
 * What a client took back itself is taken back here too.
 */
export function compactions(sizes: readonly number[], limit: number, head: number): number {
  let count = 0;
  let context = 0;
  let last = 0;
  for (const size of sizes) {
    context = Math.max(Math.min(size, head), context + size - last);
    last = size;
    if (context <= limit) continue;
    count++;
    context = head + COMPACTED;
  }
  return count;
}
