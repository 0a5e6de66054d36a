import type { TokenCounts } from 'mcp-pruner/core/ports/ledger.ts';
import type { RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import { type CacheRules, stepped } from './cache-rules.ts';
import { type Known, type Layout, removedIn, withoutCuts } from './known.ts';
import { inputOf } from './prices.ts';

/**
 * The bill of the same request without any cuts. Cache hits stay the same; only the effects of length are recalculated
 * (minimum length and step of cached prefixes). If the whole cache was hit, the counterfactual request reads everything
 * that its own predecessor left there; if the predecessor's cuts have been re-estimated since, the difference is billed
 * here.
 */
export function twinOf(
  facts: RequestFacts,
  usage: TokenCounts,
  layout: Layout,
  known: Known | null,
  rules: CacheRules,
): TokenCounts {
  const twin = withoutCuts(usage, layout);
  const total = inputOf(twin);
  if (total === inputOf(usage) && (known === null || known.cachedWithout === known.cached)) return twin;
  if (rules.automatic) {
    const hit = known !== null && usage.read >= Math.min(known.cached, inputOf(usage));
    if (!hit) return usage.read % rules.cacheStep === 0 ? withRead(twin, stepped(twin.read, rules)) : twin;
    return withRead(twin, Math.min(known.cachedWithout, stepped(total, rules)));
  }
  const hit = known !== null && known.cached > 0 && Math.abs(usage.read - known.cached) <= rules.cacheStep;
  if (hit) return withRead(twin, Math.min(known.cachedWithout, total));
  if (usage.read > 0 || facts.cacheUpTo === null) return twin;
  const missed = known !== null && known.cached > 0;
  if (missed) return twin; // the cache missed, so it would have missed for the longer prefix as well
  const wrote = usage.write5m + usage.write1h > 0;
  // long enough but not written, so the provider would not have written the longer one either
  if (!wrote && endOf(layout, facts.cacheUpTo) >= rules.minPrefix) return twin;
  const upTo = wrote ? twin.write5m + twin.write1h : endWithout(layout, facts.cacheUpTo);
  if (upTo < rules.minPrefix) return twin;
  const read = Math.min(known?.cachedWithout ?? 0, upTo);
  const hourUpTo = wrote ? twin.write1h : Math.min(upTo, hourEndWithout(facts, layout, rules));
  const write1h = Math.max(0, hourUpTo - read);
  return { read, write1h, write5m: upTo - read - write1h, fresh: total - upTo, output: usage.output };
}

/** End, without cuts, of the part written for an hour; 0 if that part is too short to be cached. */
function hourEndWithout({ cacheHourUpTo }: RequestFacts, layout: Layout, rules: CacheRules): number {
  const end = cacheHourUpTo == null ? 0 : endWithout(layout, cacheHourUpTo);
  return end < rules.minPrefix ? 0 : end;
}

/** Usage of the same request if the cache is read up to a position, or as far as it was. */
export function readUpTo(usage: TokenCounts, cached: number): TokenCounts {
  return withRead(usage, Math.max(usage.read, Math.min(cached, inputOf(usage))));
}

/** Changes the number of tokens read from the cache. Token order: read, written for an hour, the rest. */
function withRead(usage: TokenCounts, read: number): TokenCounts {
  const more = read - usage.read;
  if (more < 0) {
    const where = usage.write1h > 0 ? 'write1h' : usage.write5m > 0 ? 'write5m' : 'fresh';
    return { ...usage, read, [where]: usage[where] - more };
  }
  const long = Math.min(more, usage.write1h);
  const short = Math.min(more - long, usage.write5m);
  return {
    ...usage,
    read,
    write1h: usage.write1h - long,
    write5m: usage.write5m - short,
    fresh: usage.fresh - (more - long - short),
  };
}

/** End of the first messages of a request, in forwarded tokens. */
export function endOf({ starts, ends }: Layout, messages: number): number {
  return ends[Math.min(messages, ends.length) - 1] ?? starts[0] ?? 0;
}

/** The same without cuts. */
function endWithout(layout: Layout, messages: number): number {
  return endOf(layout, messages) + removedIn(layout, 0, Math.min(messages, layout.removed.length));
}
