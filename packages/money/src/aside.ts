import type { TokenCounts } from 'mcp-pruner/core/ports/ledger.ts';
import type { RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import type { BillBasis, Saving } from './bill.ts';
import { type Known, type Layout, NO_TOKENS, removedIn, withoutCuts } from './known.ts';
import { dollarsOf, inputOf } from './prices.ts';
import { readUpTo } from './twin.ts';

interface AsideBasis extends Pick<BillBasis, 'price' | 'calibration'> {
  readonly layout: Layout;
  /** Tokens that would have been read from the cache if nothing had been put aside; 0 if no more than actually were. */
  readonly cached: number;
}

/**
 * Additional cost of a request if the old results had not been put aside, priced by their position inside or outside
 * the cached part. Negative if the cache was still warm.
 *
 * @param known - the state after the request, for the next bill
 */
export function asideOf(
  facts: RequestFacts,
  { wouldBeAside: wouldBe = 0 }: Known,
  usage: TokenCounts,
  basis: AsideBasis,
): Saving {
  const { price, calibration } = basis;
  if (wouldBe > 0) return wouldSave(wouldBe * calibration, (facts.wouldBeAside ?? 0) > 0, usage, price);
  return partOf(facts, 'aside', usage, basis);
}

/** Additional cost of a request without a part of its cuts. */
export function partOf(
  { messages }: RequestFacts,
  part: 'aside' | 'repeated',
  usage: TokenCounts,
  { price, layout, cached }: Omit<AsideBasis, 'calibration'>,
): Saving {
  let hasAny = false;
  for (const message of messages) if (message[part]) hasAny = true; // a call for each would grow with the history
  if (!hasAny) return { tokens: 0, dollars: 0 };
  const removed = layout.removed.map((tokens, i) => {
    const { [part]: own = 0, removed: all = 0 } = messages[i] ?? {};
    return all > 0 ? (tokens * own) / all : 0;
  });
  const own = { ...layout, removed };
  const whole = readUpTo(withoutCuts(usage, own), cached);
  const dollars = price && dollarsOf(whole, price) - dollarsOf(usage, price);
  return { tokens: removedIn(own), dollars: dollars ?? 0 };
}

/**
 * Hypothetical saving if old results were put aside, for the measuring mode. With a warm cache they are read from it,
 * and putting them aside would force the provider to reprocess everything.
 *
 * @param tokens - tokens of all results that would be put aside
 * @param isNow - whether some of them would be put aside at this request
 */
function wouldSave(tokens: number, isNow: boolean, usage: TokenCounts, price: BillBasis['price']): Saving {
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
