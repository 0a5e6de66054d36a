import type { TokenCounts } from 'mcp-pruner/core/ports/ledger.ts';
import type { RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import type { Price } from './prices.ts';

const MINUTES_5_MS = 300_000;

/** Cache rules assumed for models without a price; lengths in tokens. */
const UNPRICED = { minPrefix: 1_024, cacheStep: 1, automatic: false, cacheMs: MINUTES_5_MS };

export type CacheRules = Pick<Price, 'minPrefix' | 'cacheStep' | 'automatic' | 'cacheMs'>;

/** The provider's cache rules. Without requested caching or reported writes, any cache must be automatic. */
export function rulesFor({ cacheUpTo, usage }: RequestFacts, price: Price | null): CacheRules {
  const rules = price ?? UNPRICED;
  if (rules.automatic || cacheUpTo !== null || usage === null || usage.written !== null) return rules;
  const { minPrefix, cacheStep, cacheMs } = rules;
  return { minPrefix, cacheStep, cacheMs, automatic: true };
}

/** Tokens in the cache after a request. @param total - all its input tokens */
export function cachedTokens({ read, write5m, write1h }: TokenCounts, rules: CacheRules, total: number): number {
  const reported = read + write5m + write1h;
  if (!rules.automatic) return reported;
  return Math.max(reported, stepped(total, rules));
}

export function stepped(tokens: number, { cacheStep, minPrefix }: CacheRules): number {
  return tokens < minPrefix ? 0 : Math.floor(tokens / cacheStep) * cacheStep;
}
