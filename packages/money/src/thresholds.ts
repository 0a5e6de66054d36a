import type { TokenCounts } from 'mcp-pruner/core/ports/ledger.ts';
import { inputOf, type Rates } from './prices.ts';

/** A request of a past conversation, as it was billed. */
export interface PastTurn extends TokenCounts {
  readonly atMs: number;
  /** Dollars per million tokens, or any other unit. */
  readonly rates: Rates;
  /** Whether its newest message is the user's own words, without an open tool call before it. */
  readonly seam: boolean;
}

/** When a conversation is compacted: at a length, as clients do, or at seams of this weight, by the provider. */
export type CompactionRule = { readonly at: 'length' | 'seam'; readonly tokens: number };

/** What a compaction leaves behind. */
export interface Leftover {
  /** Length of the summary, in tokens. */
  readonly summary: number;
  /** How often something of 5,000 tokens is read again after a compaction. */
  readonly readsAgain: number;
}

/** Usual summaries, and the pessimistic case. */
export const USUAL: Leftover = { summary: 10_000, readsAgain: 0 };
export const PESSIMISTIC: Leftover = { summary: 20_000, readsAgain: 4 };

export interface Simulated {
  readonly cost: number;
  readonly compactions: number;
}

/** System prompt and tools are at most this long; a longer first request brings something that a summary replaces. */
const MAX_HEAD = 40_000;
const READ_AGAIN_TOKENS = 5_000;
/** A call that reads something again. */
const CALL_TOKENS = 100;
/** A request that is shorter than this share of the one before it begins a history that its client compacted. */
const RESTARTED = 0.7;
const MILLION = 1_000_000;
/** No compaction follows another one sooner, in requests; and none that has not paid back, sooner than the second. */
const LEAST_APART = 10;
const LEAST_UNPAID = 50;
/** The expected saving must exceed the price of a compaction this many times. */
const MARGIN = 2;

/** Dollars of a request of which some tokens are cached and the others are not, in the proportions of its bill. */
function costOf(turn: PastTurn, read: number, uncached: number): number {
  const { fresh, write5m, write1h, output, rates } = turn;
  const all = fresh + write5m + write1h;
  const mean =
    all === 0 ? rates.input : (fresh * rates.input + write5m * rates.write5m + write1h * rates.write1h) / all;
  return (read * rates.read + uncached * mean + output * rates.output) / MILLION;
}

/** What requests cost as they were billed. */
export function billed(turns: readonly PastTurn[]): number {
  return turns.reduce((sum, turn) => sum + costOf(turn, turn.read, inputOf(turn) - turn.read), 0);
}

/**
 * What a conversation would have cost with compactions. A compaction reads the whole context from the cache and writes
 * the summary; afterwards, the context is the head, the summary and what was added since. The first request after it
 * finds only the head in the cache. At a seam, that is the request after the seam's own one, which no compaction delays.
 *
 * @param remaining - expected number of further requests at a length; absent if compactions need not pay
 */
export function simulate(
  turns: readonly PastTurn[],
  rule: CompactionRule,
  { summary, readsAgain }: Leftover = USUAL,
  remaining?: (tokens: number) => number,
): Simulated {
  const inputs = turns.map(inputOf);
  const head = Math.min(MAX_HEAD, inputs[0] ?? 0);
  let [cost, compactions] = [0, 0];
  /** Tokens that the summary replaced, and tokens that were read again since. */
  let [dropped, again, toRead] = [0, 0, 0];
  let [isFirst, since, unpaid] = [false, Number.POSITIVE_INFINITY, 0];
  let planned: number | null = null;
  for (const [i, turn] of turns.entries()) {
    const before = turns[i - 1];
    const input = inputs[i] ?? 0;
    if (input < RESTARTED * (inputs[i - 1] ?? 0)) [dropped, again, toRead, planned] = [0, 0, 0, null];
    if (planned !== null) {
      [dropped, again, toRead, isFirst, planned] = [planned, 0, readsAgain, true, null];
    }
    dropped = Math.max(0, Math.min(dropped, input - head));
    const gone = isFirst ? turn.read - Math.min(turn.read, head) : Math.min(dropped, Math.max(0, turn.read - head));
    const read = turn.read - gone;
    const uncached = input - dropped - read;
    cost += costOf(turn, read + again, uncached);
    unpaid -= (dropped * turn.rates.read) / MILLION;
    if (toRead > 0) {
      toRead--;
      again += READ_AGAIN_TOKENS;
      const call = { ...turn, output: CALL_TOKENS };
      cost += costOf(call, input - dropped + again - READ_AGAIN_TOKENS, READ_AGAIN_TOKENS);
    }
    isFirst = false;
    since++;
    if (i === turns.length - 1) break;
    // as the provider sees it: the context before the seam, or after this answer
    const last = rule.at === 'seam' ? before : turn;
    if (last === undefined || (rule.at === 'seam' && !turn.seam)) continue;
    const whole = (inputs[rule.at === 'seam' ? i - 1 : i] ?? 0) + last.output;
    const context = whole - dropped + again;
    const left = head + summary;
    if (context < rule.tokens || context <= left || whole - left <= dropped) continue;
    const price = (context * turn.rates.read + summary * (turn.rates.output + turn.rates.input)) / MILLION;
    if (remaining !== undefined) {
      const saved = ((context - left) * turn.rates.read * remaining(context)) / MILLION;
      if (saved < MARGIN * price || since < LEAST_APART || (since < LEAST_UNPAID && unpaid > 0)) continue;
    }
    cost += (context * turn.rates.read + summary * turn.rates.output) / MILLION;
    compactions++;
    [since, unpaid, planned] = [0, price, whole - left];
  }
  return { cost, compactions };
}

/** Fewer conversations show no pace. */
const FEWEST = 5;

/**
 * How many requests conversations still had when they first reached a length: the median of those that did.
 *
 * @param conversations - input tokens of each request, by conversation
 * @returns 0 with fewer than five of them
 */
export function paceOf(conversations: readonly (readonly number[])[]): (tokens: number) => number {
  const known = new Map<number, number>();
  return (tokens) => {
    const step = Math.floor(tokens / STEP_TOKENS);
    const found = known.get(step) ?? medianLeft(conversations, step * STEP_TOKENS);
    known.set(step, found);
    return found;
  };
}

const STEP_TOKENS = 10_000;

function medianLeft(conversations: readonly (readonly number[])[], tokens: number): number {
  const left = conversations.flatMap((sizes) => {
    const at = sizes.findIndex((size) => size >= tokens);
    return at < 0 ? [] : sizes.length - 1 - at;
  });
  if (left.length < FEWEST) return 0;
  return left.sort((a, b) => a - b)[Math.floor(left.length / 2)] ?? 0;
}

/** Lengths of which reports show what they would have cost, in tokens. */
export const THRESHOLDS = [60_000, 100_000, 150_000, 200_000] as const;
/** Default weight of finished work from which a seam is used. */
export const SEAM_TOKENS = 120_000;
