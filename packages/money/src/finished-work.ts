import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import { inputOf, type Price, type Prices, ratesFor } from './prices.ts';

/** The fields of a billed request that show seams and their price. */
export type SeamTurn = Pick<
  LedgerTurn,
  'conversationId' | 'project' | 'model' | 'cloud' | 'client' | 'atMs' | 'fresh' | 'write5m' | 'write1h' | 'read'
> & { readonly work?: Pick<NonNullable<LedgerTurn['work']>, 'userMessages' | 'calls'> | undefined };

/** The work before a conversation's newest seam: what the next request repeats although it is finished. */
export interface FinishedWork {
  readonly conversationId: string;
  readonly project: string;
  /** Product name of the user agent; `''` if unknown. */
  readonly client: string;
  /** Input tokens of the last answered request before the seam. */
  readonly tokens: number;
  /** Dollars that one more request pays for them; `null` without a price. */
  readonly dollars: number | null;
  /** When the conversation's last request ended, in epoch milliseconds. */
  readonly lastMs: number;
}

/** Smaller finished work is not shown where space is short, in tokens. */
export const SHOWN_TOKENS = 100_000;
const HOUR_MS = 3_600_000;
const MILLION = 1_000_000;

/**
 * Whether a request is a seam: its newest message is the user's own words, and no tool call was open before it. The
 * calls are those of the model's last answer.
 */
export function isSeam({ work }: Pick<SeamTurn, 'work'>): boolean {
  return work !== undefined && work.userMessages > 0 && work.calls === 0;
}

/**
 * Finished work of one conversation; `null` if the conversation has no seam, or no request before it.
 *
 * @param turns - in order; they may begin anywhere before the newest seam
 */
export function finishedWork(
  turns: readonly SeamTurn[],
  prices: Pick<Prices, 'of'>,
  nowMs: number,
): FinishedWork | null {
  const at = turns.findLastIndex((turn, i) => i > 0 && isSeam(turn));
  const [before, last] = [turns[at - 1], turns.at(-1)];
  if (before === undefined || last === undefined) return null;
  const tokens = inputOf({ ...before, output: 0 });
  const price = prices.of(last.model, nowMs, last.cloud);
  const { conversationId, project, client = '', atMs: lastMs } = last;
  return { conversationId, project, client, tokens, dollars: price && priceOf(tokens, last, price, nowMs), lastMs };
}

/** Price of repeating some tokens: from the cache, or written to it again if it has expired since the last answer. */
function priceOf(tokens: number, last: SeamTurn, price: Price, nowMs: number): number {
  const rates = ratesFor(price, tokens);
  const isHour = last.write1h > 0;
  const isCold = nowMs - last.atMs > (isHour ? HOUR_MS : price.cacheMs);
  const rate = isCold ? Math.max(rates.input, isHour ? rates.write1h : rates.write5m) : rates.read;
  return (tokens * rate) / MILLION;
}

/**
 * Dollars that the requests of a conversation paid for finished work. It stands at the front of a request, so its tokens
 * were the first to be read from the cache.
 *
 * @param turns - in order
 * @param sinceMs - earlier requests are not counted
 */
export function paidForFinished(turns: readonly SeamTurn[], prices: Pick<Prices, 'of'>, sinceMs: number): number {
  let [paid, finished] = [0, 0];
  for (const [i, turn] of turns.entries()) {
    const before = turns[i - 1];
    if (before !== undefined && isSeam(turn)) finished = inputOf({ ...before, output: 0 });
    const price = finished > 0 && turn.atMs >= sinceMs ? prices.of(turn.model, turn.atMs, turn.cloud) : null;
    if (price !== null) paid += frontCost(turn, finished, price);
  }
  return paid;
}

/** Dollars for the first `tokens` tokens of a request. */
function frontCost(turn: SeamTurn, tokens: number, price: Price): number {
  const { fresh, write5m, write1h, read } = turn;
  const input = inputOf({ ...turn, output: 0 });
  const rates = ratesFor(price, input);
  const cached = Math.min(tokens, read);
  const rest = Math.min(tokens, input) - cached;
  const uncached = input - read;
  const rate = (fresh * rates.input + write5m * rates.write5m + write1h * rates.write1h) / Math.max(1, uncached);
  return (cached * rates.read + rest * rate) / MILLION;
}

/** Conversations without a request for this long count as ended. */
export const ENDED_MS = HOUR_MS;
const MAX_CONVERSATIONS = 20;
/** Newest requests of a conversation in which its newest seam is searched. */
const MAX_TURNS = 500;

/**
 * Finished work of the conversation that was active last, for status lines.
 *
 * @param of.conversations - only these; default: those of the last hour
 * @returns `null` without a seam
 * @throws StoreUnavailable
 */
export async function newestFinished(
  store: Pick<LedgerStore, 'conversations' | 'turns'>,
  prices: Pick<Prices, 'of'>,
  nowMs: number,
  of: { readonly conversations?: readonly string[]; readonly project?: string | undefined } = {},
): Promise<FinishedWork | null> {
  const names = of.conversations?.toReversed() ?? (await activeConversations(store, nowMs, of.project));
  for (const conversationId of names) {
    const turns = await store.turns({ conversationId, newestFirst: true, limit: MAX_TURNS });
    const found = finishedWork(turns.toReversed(), prices, nowMs);
    if (found !== null) return found;
  }
  return null;
}

/** Active conversations, newest first. Those of sub-agents have no seam: a user writes to the main one. */
async function activeConversations(
  store: Pick<LedgerStore, 'conversations'>,
  nowMs: number,
  project: string | undefined,
): Promise<readonly string[]> {
  const active = await store.conversations({
    sinceMs: nowMs - ENDED_MS,
    limit: MAX_CONVERSATIONS,
    ...(project !== undefined && { project }),
  });
  return active.map(({ conversationId }) => conversationId);
}

/** One line about finished work, for status lines; `null` if it is small. */
export function finishedWords(work: Pick<FinishedWork, 'tokens' | 'dollars' | 'client'> | null): string | null {
  if (work === null || work.tokens < SHOWN_TOKENS) return null;
  const price = work.dollars === null ? '' : `, $${work.dollars.toFixed(2)} a turn`;
  return `${Math.round(work.tokens / 1_000)}k of finished work${price}: ${compactCommand(work.client)}`;
}

/** The command by which a client compacts. */
function compactCommand(client: string): string {
  return /^(?:gemini|qwen)/i.test(client) ? '/compress' : '/compact';
}
