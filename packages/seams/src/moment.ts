import { ENDED_MS } from '@mcp-pruner/money/finished-work.ts';
import { inputOf, type Prices, ratesFor } from '@mcp-pruner/money/prices.ts';
import type { Rows } from 'mcp-pruner/store/sql/steps.ts';
import { MAX_OUTPUT_TOKENS } from './wire.ts';

/** Facts on which the decision about a compaction depends. */
export interface Moment {
  readonly project: string;
  readonly model: string;
  readonly cloud?: string | undefined;
  /** Tokens of the last answered request before the seam. */
  readonly weight: number;
  /** Tokens of system prompt and tools, which stay. */
  readonly head: number;
  readonly nowMs: number;
}

/** Expected length of a summary, in tokens. */
const SUMMARY_TOKENS = 6_000;
/** Shorter finished work never pays, in tokens. */
const LEAST_TOKENS = 20_000;
/** The expected saving must exceed the price this many times. */
const MARGIN = 2;
const MILLION = 1_000_000;
const DAYS_30_MS = 30 * 86_400_000;
const FEWEST = 5;
const MAX_CONVERSATIONS = 2_000;
/** How long a pace is used before it is read again. */
const PACE_MS = 10 * 60_000;
const STEP_TOKENS = 10_000;

/** Dollars of a compaction: the context from the cache, the summary written, and read anew by the next request. */
function expectedPrice(
  { model, cloud, weight, nowMs }: Omit<Moment, 'project' | 'head'>,
  prices: Prices,
): number | null {
  const price = prices.of(model, nowMs, cloud);
  if (price === null) return null;
  const rates = ratesFor(price, weight);
  return (weight * rates.read + SUMMARY_TOKENS * (rates.output + Math.max(rates.input, rates.write5m))) / MILLION;
}

/** Dollars that may be reserved for a compaction: an upper bound. */
export function highestPrice(
  { model, cloud, weight, nowMs }: Omit<Moment, 'project' | 'head'>,
  prices: Prices,
): number {
  const price = prices.of(model, nowMs, cloud);
  const rates = price && ratesFor(price, weight);
  return rates === null
    ? 0
    : (weight * Math.max(rates.input, rates.write5m) + MAX_OUTPUT_TOKENS * rates.output) / MILLION;
}

/** How many requests conversations of a project still had at a length, from the ledger. */
export class Pace {
  readonly #sql: Rows;
  readonly #known = new Map<string, { readonly atMs: number; readonly median: number }>();

  constructor(sql: Rows) {
    this.#sql = sql;
  }

  /**
   * Median of ended conversations of the last 30 days that passed this length; 0 with fewer than five.
   *
   * @throws StoreUnavailable
   */
  async remaining(project: string, tokens: number, nowMs: number): Promise<number> {
    const step = Math.floor(tokens / STEP_TOKENS) * STEP_TOKENS;
    const key = `${step} ${project}`;
    const known = this.#known.get(key);
    if (known !== undefined && nowMs - known.atMs < PACE_MS && nowMs >= known.atMs) return known.median;
    const rows = await this.#sql.all<{ remaining: number }>(REMAINING, [
      ...[project, Math.trunc(nowMs - DAYS_30_MS), step, project, Math.trunc(nowMs - ENDED_MS)],
    ]);
    const left = rows.map((row) => Number(row.remaining)).sort((a, b) => a - b);
    const median = left.length < FEWEST ? 0 : (left[Math.floor(left.length / 2)] ?? 0);
    if (this.#known.size > MAX_CONVERSATIONS) this.#known.clear();
    this.#known.set(key, { atMs: nowMs, median });
    return median;
  }
}

/** Requests after the first one that reached a length, by ended conversation. */
const REMAINING = `SELECT count(t.id) AS remaining FROM main.ledger_turn t JOIN
    (SELECT conversation, min(id) AS id FROM main.ledger_turn WHERE project = ? AND at_ms >= ? AND conversation <> ''
       AND fresh + write5m + write1h + read >= ? GROUP BY conversation) f
    ON f.conversation = t.conversation
  WHERE t.project = ? AND t.id >= f.id GROUP BY t.conversation HAVING max(t.at_ms) < ?
  ORDER BY max(t.at_ms) DESC LIMIT ${MAX_CONVERSATIONS}`;

/**
 * Whether a compaction pays: its expected saving over the remaining requests exceeds twice its price.
 *
 * @param remaining - expected number of further requests
 */
export function pays(moment: Moment, remaining: number, prices: Prices): boolean {
  const { weight, head, model, cloud, nowMs } = moment;
  const price = expectedPrice(moment, prices);
  const rates = prices.of(model, nowMs, cloud);
  if (price === null || rates === null || weight < LEAST_TOKENS) return false;
  const saved = ((weight - head - SUMMARY_TOKENS) * ratesFor(rates, weight).read * remaining) / MILLION;
  return saved > MARGIN * price;
}

/** Tokens of a request's input. */
export function tokensOf(turn: { fresh: number; write5m: number; write1h: number; read: number }): number {
  return inputOf({ ...turn, output: 0 });
}
