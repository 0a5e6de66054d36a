import type { TokenCounts } from 'mcp-pruner/core/ports/ledger.ts';
import type { RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import type { Bill, BillBasis } from './bill.ts';
import { answeredFrom, causeOf, type Known, type Layout } from './known.ts';
import { dollarsOf, inputOf, type Price } from './prices.ts';
import { endOf } from './twin.ts';

/** A miss below this share of the expected tokens is attributed to the provider's rounding. */
const ROUNDING = 0.01;

/**
 * Like `ROUNDING`, for conversations with unknown earlier requests, whose expected cache reads are estimated from
 * bytes.
 */
const ESTIMATED_ROUNDING = 0.1;

type MissFigures = Pick<Bill, 'miss' | 'missAt' | 'missTokens' | 'missDollars'>;

export function noMiss(price: Price | null): MissFigures {
  return { miss: null, missAt: -1, missTokens: 0, missDollars: price && 0 };
}

/** Tokens that should have been read from the cache but were not, with the cause. */
export function missOf(
  facts: RequestFacts,
  known: Known | null,
  usage: TokenCounts,
  { price, compacted = false }: BillBasis,
  layout: Layout,
): MissFigures {
  const total = inputOf(usage);
  const goesOnUnknown = known === null && !compacted && facts.fresh.from > 0;
  const should = known?.cached ?? (goesOnUnknown ? endOf(layout, answeredFrom(facts)) : total);
  const rounding = goesOnUnknown ? ESTIMATED_ROUNDING : ROUNDING;
  const tokens = Math.max(0, Math.min(should, total) - usage.read);
  // removed content cannot be missed, and small differences are rounding
  if (tokens <= Math.max(rounding * should, price?.cacheStep ?? 1)) return noMiss(price);
  const { cause, at } = causeOf(known, facts, compacted);
  // token order: read, written, fresh
  const long = Math.min(tokens, usage.write1h);
  const short = Math.min(tokens - long, usage.write5m);
  const paid = { fresh: tokens - long - short, write5m: short, write1h: long, read: 0, output: 0 };
  const hit = { fresh: 0, write5m: 0, write1h: 0, read: tokens, output: 0 };
  return {
    miss: cause,
    missAt: at,
    missTokens: tokens,
    missDollars: price && dollarsOf(paid, price, total) - dollarsOf(hit, price, total),
  };
}
