import type { Message, Recording, Usage } from '../recordings/conversation.ts';
import type { SentTexts } from './sent-texts.ts';
import { callsIn, contentOf, textOf } from './shown.ts';

/** What a cached token costs, and one that is written to the cache, for five minutes and for an hour; input is 1. */
const CACHED = 0.1;
const WRITTEN = 1.25;
const WRITTEN_1H = 2;

/** Where contexts are taken to be compacted, in tokens, and what they begin with again beside the system prompt. */
export const LIMITS = [160_000, 200_000, 245_000, 450_000, 967_000] as const;
const COMPACTED = 8_000;

/** A call of `recover_text`, and what frames the lines in its answer. */
const RECOVERY_OUTPUT = 60;
const RECOVERY_INPUT = 100;

/** What one conversation costs, in input tokens at the full price, without and with its cuts. */
export interface RealBill {
  readonly requests: number;
  readonly before: number;
  readonly after: number;
  /** By message: what it costs over all requests, and what its cuts save of that. */
  readonly costBy: ReadonlyMap<number, { readonly cost: number; readonly saved: number }>;
  /** What one recovery of so many characters costs at an answer, by its index. */
  readonly recoveryAt: (at: number, chars: number) => number;
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

/** What a token costs that is not in the cache, where the provider would have read it from there. */
function writePriceOf(usage: readonly Usage[]): number {
  const written = usage.reduce((sum, one) => sum + one.written, 0);
  const long = usage.reduce((sum, one) => sum + one.written1h, 0);
  return written === 0 ? 1 : WRITTEN + ((WRITTEN_1H - WRITTEN) * long) / written;
}

/** A message that may be cut, by its request: where it stands in the prompt, and what of it is gone. */
interface Place {
  readonly i: number;
  readonly tokens: number;
  readonly gone: number;
  /** Tokens of the prompt before its middle. */
  readonly place: number;
}

/** A recording with its cuts, as its requests are priced. */
class PricedRecording {
  readonly usage: readonly Usage[];
  readonly sums: readonly number[];
  readonly writePrice: number;
  readonly #sent: SentTexts;
  readonly #perToken: number;
  readonly #large: readonly number[];

  constructor({ messages, usage = [] }: Recording, sent: SentTexts, perToken: number) {
    this.usage = usage;
    this.sums = sumsOf(messages);
    this.writePrice = writePriceOf(usage);
    this.#sent = sent;
    this.#perToken = perToken;
    this.#large = messages.flatMap((message, i) => (textOf(message).length < LEAST_CHARS ? [] : i));
  }

  /** The large messages of a request. What the client itself has taken back, compacted or cleared, is left out. */
  placesIn(one: Usage): Place[] {
    return this.#large.flatMap((i) => {
      if (i >= one.at) return [];
      const { length } = this.#sent.originalOf(i);
      const place = this.#placeOf(one, ((this.sums[i] ?? 0) + (this.sums[i + 1] ?? 0)) / 2);
      if (place < 0) return [];
      const gone = length - this.#sent.textAt(i, one.at).length;
      return [{ i, tokens: length / this.#perToken, gone: gone / this.#perToken, place }];
    });
  }

  /**
   * What a request costs more because it changes what an earlier one sent: tokens that its provider read from the cache
   * and that now stand behind a change. They are written, as far as they are still sent.
   *
   * @param previous - index of the last answer that was billed
   */
  rewriteCost(one: Usage, places: readonly Place[], previous: number): number {
    const first = this.#sent.firstChange(previous, one.at);
    if (first >= one.at) return 0;
    const start = Math.max(0, this.#placeOf(one, this.sums[first] ?? 0));
    const behind = places.filter(({ place }) => place >= start && place < one.read);
    const kept = Math.max(0, one.read - start) - behind.reduce((sum, { gone }) => sum + gone, 0);
    return Math.max(0, kept) * (this.writePrice - CACHED);
  }

  /** Tokens of a prompt before a place of the messages that is given in characters. */
  #placeOf(one: Usage, chars: number): number {
    return inputOf(one) - ((this.sums[one.at] ?? 0) - chars) / this.#perToken;
  }
}

/**
 * What a recording with usage cost, and what it would have cost as its requests were sent. Whether a cache was cold is
 * known from the usage: tokens that the provider read from its cache stay cheap as long as nothing before them changes.
 */
export function realBillOf(recording: Recording, sent: SentTexts, perToken: number): RealBill {
  const { outputPrice = 5 } = recording;
  const priced = new PricedRecording(recording, sent, perToken);
  const { usage, sums, writePrice } = priced;
  const costBy = new Map<number, { cost: number; saved: number }>();
  const sizesBefore: number[] = [];
  const sizesAfter: number[] = [];
  let [before, after] = [0, 0];
  for (const [k, one] of usage.entries()) {
    const places = priced.placesIn(one);
    const cost = costOf(one, outputPrice);
    let [saved, gone] = [0, 0];
    for (const { i, tokens, gone: cut, place } of places) {
      const price = priceAt(place, one);
      const known = costBy.get(i) ?? { cost: 0, saved: 0 };
      costBy.set(i, { cost: known.cost + price * tokens, saved: known.saved + price * cut });
      saved += price * cut;
      gone += cut;
    }
    before += cost;
    after += cost - saved + priced.rewriteCost(one, places, usage[k - 1]?.at ?? -1);
    sizesBefore.push(inputOf(one));
    sizesAfter.push(inputOf(one) - gone);
  }
  const head = Math.max(0, (sizesBefore[0] ?? 0) - (sums[usage[0]?.at ?? 0] ?? 0) / perToken);
  const requestOf = new Map(usage.map(({ at }, k) => [at, k]));
  return {
    requests: usage.length,
    before,
    after,
    costBy,
    recoveryAt: (at, chars) => {
      const k = requestOf.get(at) ?? usage.length - 1;
      const stays = writePrice + CACHED * (usage.length - 1 - k);
      return (
        CACHED * (sizesAfter[k] ?? 0) +
        outputPrice * RECOVERY_OUTPUT +
        (RECOVERY_INPUT + RECOVERY_OUTPUT + chars / perToken) * stays
      );
    },
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
