import type { TokenCounts } from '../core/ports/ledger.ts';
import type { RequestFacts } from '../core/ports/request-facts.ts';
import type { BillBasis, HeadSaving } from './bill.ts';
import { type Known, type Layout, NO_TOKENS, removedIn, withoutCuts } from './known.ts';
import { dollarsOf, inputOf } from './prices.ts';
import { readUpTo } from './twin.ts';

interface AsideBasis extends Pick<BillBasis, 'price' | 'calibration'> {
  readonly layout: Layout;
  /** Tokens that the request would have read if nothing had been put aside at it; 0: no more than it did. */
  readonly cached: number;
}

/**
 * How much more a request would have cost with the old results that were put aside, priced by where they would stand: in
 * the part that was read from the cache, or behind it. Less than 0 if the cache was still warm.
 *
 * @param known - what the next bill will know of it
 */
export function asideOf(
  { messages, wouldBeAside = 0 }: RequestFacts,
  { wouldBeAside: wouldBe = 0 }: Known,
  usage: TokenCounts,
  { price, calibration, layout, cached }: AsideBasis,
): HeadSaving {
  if (wouldBe > 0) return wouldSave(wouldBe * calibration, wouldBeAside > 0, usage, price);
  if (!messages.some(({ aside }) => aside)) return { tokens: 0, dollars: 0 };
  const removed = layout.removed.map((tokens, i) => {
    const { aside = 0, removed: all = 0 } = messages[i] ?? {};
    return all > 0 ? (tokens * aside) / all : 0;
  });
  const own = { ...layout, removed };
  const whole = readUpTo(withoutCuts(usage, own, 0), cached);
  const dollars = price && dollarsOf(whole, price) - dollarsOf(usage, price);
  return { tokens: removedIn(own), dollars: dollars ?? 0 };
}

/**
 * The saving of old results that the request still had, because what would be put aside is only measured. They are read
 * from the cache if it is warm; if it is warm at the moment at which they would be put aside, that would make the
 * provider read everything anew.
 *
 * @param tokens - of all results that would be aside
 * @param isNow - some of them would be put aside at this request
 */
function wouldSave(tokens: number, isNow: boolean, usage: TokenCounts, price: BillBasis['price']): HeadSaving {
  if (price === null) return { tokens, dollars: 0 };
  const total = inputOf(usage);
  const isWarm = usage.read * 2 > total;
  const enters = usage.write1h > 0 ? 'write1h' : usage.write5m > 0 ? 'write5m' : 'fresh';
  const kind = isWarm ? 'read' : enters;
  const less: TokenCounts =
    isWarm && isNow
      ? { ...NO_TOKENS, [enters]: Math.max(0, total - tokens), output: usage.output }
      : { ...usage, [kind]: Math.max(0, usage[kind] - tokens) };
  return { tokens, dollars: dollarsOf(usage, price) - dollarsOf(less, price) };
}
