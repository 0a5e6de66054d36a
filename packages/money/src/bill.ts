import type { BilledFigures, TokenCounts } from 'mcp-pruner/core/ports/ledger.ts';

import type { ReportedUsage, RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import { asideOf, partOf } from './aside.ts';

import { type CacheRules, cachedTokens, rulesFor } from './cache-rules.ts';
import {
  clearsAlike,
  follows,
  type Known,
  type Layout,
  layOut,
  type Mark,
  NO_TOKENS,
  removedIn,
  shared,
  withoutCuts,
} from './known.ts';
import { missOf, noMiss } from './misses.ts';
import { dollarsAt, dollarsOf, inputOf, type Price, type Rates, ratesFor } from './prices.ts';
import { readUpTo, twinOf } from './twin.ts';

/** The bill of a request, the counterfactual bill without cuts, and the facts needed for the next request's bill. */
export interface Bill extends BilledFigures {
  readonly usage: TokenCounts;
  readonly without: TokenCounts;
  /** Results that were (or would be) put aside: the additional cost of the request with them. */
  readonly aside: Saving;
  /** Repeats that were cut: the additional cost of the request with them. */
  readonly repeated: Saving;
  /** Index of the first message that occurs in no known earlier request. */
  readonly newFrom: number;
  /** Price of a token that is new in this request, in dollars. */
  readonly entering: number | null;
  readonly known: Known;
}

/** Savings of some cuts, in the provider's tokens and in dollars (0 if the model has no price). */
export interface Saving {
  readonly tokens: number;
  readonly dollars: number;
}

/** Inputs of a bill other than the facts of this request and the previous one. */
export interface BillBasis {
  /** `null` if the model has no price; only tokens are counted then. */
  readonly price: Price | null;
  /** Dollars besides those for tokens: calls of the provider's own tools. Default: 0. */
  readonly fees?: number;
  /** Provider tokens per estimated token. */
  readonly calibration: number;
  /** The provider has reported cache figures for this model before, so missing figures mean 0. Default: unknown. */
  readonly reportsCache?: boolean;
  /** The request begins a conversation that continues from another one's summary. */
  readonly compacted?: boolean;
}

const HOUR_MS = 3_600_000;
const BYTES_PER_TOKEN = 4;
/** Maximum number of earlier bills kept per conversation; they show where messages end. */
const MAX_MARKS = 64;

/**
 * Bills one request.
 *
 * @param known - the state after the continued request, if any
 */
export function billOf(facts: RequestFacts, known: Known | null, basis: BillBasis): Bill {
  const { price, calibration } = basis;
  const rules = rulesFor(facts, price);
  const counts =
    facts.usage === null ? expected(facts, known, calibration, rules) : countsOf(facts.usage, facts.answerTokens);
  const usage = { ...counts, output: Math.max(counts.output, facts.metered?.output ?? 0) };
  const total = inputOf(usage);
  const common = known === null ? 0 : shared(known, facts.messages, true);
  const isMarked = known !== null && clearsAlike(known, facts);
  const marks = isMarked ? marksUpTo(known, common) : [];
  const { alike, direct, continued, spoiled } = continuationOf(known, facts, common);
  const newFrom = direct ? common : Math.max(common, facts.fresh.from);
  const reports = hasCacheFigures(facts.usage);
  const caches = basis.reportsCache === true || reports;
  const kept = factsKept(facts, direct ? known : null);
  const isUncut = hasNoCut(facts) && kept.wouldBeAside === 0 && spoiled === null && twinsAlike(continued);
  // where messages end in a request of which nothing was cut shows only how much of an unknown history was cached
  const needsLayout = !isUncut || (known === null && facts.fresh.from > 0);
  const layout = needsLayout ? layOut(facts.messages, total, facts.bytes, marks, calibration) : NO_LAYOUT;
  const rates = price && ratesFor(price, total);
  // further model calls of the request have their own context
  const besides = facts.usage?.besides ? countsOf(facts.usage.besides) : NO_TOKENS;
  const extra = (basis.fees ?? 0) + (price === null || besides === NO_TOKENS ? 0 : dollarsOf(besides, price));
  // without a price, the answer's own figure counts, which says nothing about cuts
  const dollars = rates ? dollarsAt(usage, rates) + extra : (facts.usage?.cost ?? null);
  const entering = rates && enteringAt(usage, rates);
  const cached = cachedTokens(usage, rules, total);
  let without = usage;
  let tokensWithout = total;
  if (!isUncut) {
    const uncut = caches ? twinOf(facts, usage, layout, continued, rules) : withoutCuts(usage, layout);
    without = readUpTo(uncut, caches ? (spoiled?.cachedWithout ?? 0) : 0);
    tokensWithout = inputOf(without);
  }
  const next: Known = {
    messages: facts.messages,
    marks: withMark(marks, { messages: facts.messages.length, tokens: total }),
    cached,
    cachedWithout: isUncut ? cached : cachedTokens(without, rules, tokensWithout),
    tokens: total,
    tokensWithout,
    output: usage.output,
    lifetimeMs: lifetimeOf(usage, alike ? known : null, rules),
    ...kept,
  };
  const counted = besides === NO_TOKENS ? usage : sumOf(usage, besides);
  const withoutAside = caches && facts.messages[common]?.aside !== undefined ? (spoiled?.cached ?? 0) : 0;
  return {
    usage: counted,
    estimated: facts.usage === null || facts.usage.input === null || facts.usage.output === null,
    without: isUncut ? counted : sumOf(without, besides),
    dollars,
    dollarsWithout: isUncut || !price ? dollars : dollarsOf(without, price, tokensWithout) + extra,
    removed: isUncut ? 0 : removedIn(layout),
    removedNew: isUncut ? 0 : removedIn(layout, newFrom),
    repeated: isUncut ? NO_SAVING : partOf(facts, 'repeated', usage, { price, layout, cached: 0 }),
    aside: isUncut ? NO_SAVING : asideOf(facts, next, usage, { price, calibration, layout, cached: withoutAside }),
    newFrom,
    entering,
    known: next,
    ...(caches && facts.usage !== null ? missOf(facts, known, usage, basis, layout) : noMiss(price)),
  };
}

const NO_SAVING: Saving = { tokens: 0, dollars: 0 };
const NO_LAYOUT: Layout = { starts: new Float64Array(0), ends: new Float64Array(0), removed: new Float64Array(0) };

/** Whether nothing of a request was cut, or would have been in shadow mode. */
function hasNoCut({ messages, wouldBeAside = 0 }: RequestFacts): boolean {
  if (wouldBeAside !== 0) return false;
  for (const { removed, aside = 0, repeated = 0 } of messages)
    if (removed !== 0 || aside + repeated !== 0) return false;
  return true;
}

/** Whether the cache has the same length as it would have without cuts. @param known - the continued request, if any */
function twinsAlike(known: Known | null): boolean {
  return known === null || known.cachedWithout === known.cached;
}

function marksUpTo({ marks }: Known, messages: number): readonly Mark[] {
  let count = marks.length;
  while (count > 0 && (marks[count - 1]?.messages ?? 0) > messages) count--;
  return count === marks.length ? marks : marks.slice(0, count);
}

/** Adds a mark, which replaces that of a repeated request. */
function withMark(marks: readonly Mark[], mark: Mark): readonly Mark[] {
  const others = marks.at(-1)?.messages === mark.messages ? marks.slice(0, -1) : marks;
  return [...others, mark].slice(-MAX_MARKS);
}

/**
 * How a request continues the previous one. `alike`: same cuts and a warm cache. `direct`: it is the next request.
 * `continued`: both. `spoiled`: different cuts prevented a hit in a warm cache.
 */
function continuationOf(known: Known | null, facts: RequestFacts, common: number) {
  if (known === null) return { alike: false, direct: false, continued: null, spoiled: null };
  const alike = continuesFrom(known, facts, common);
  const direct = follows(known, facts);
  const meant = direct && !alike && continuesFrom(known, facts, shared(known, facts.messages, false));
  return { alike, direct, continued: alike && direct ? known : null, spoiled: meant ? known : null };
}

/** Cache lifetime. @param alike - the previous request, if this one continues its cache */
function lifetimeOf({ write5m, write1h }: TokenCounts, alike: Known | null, { cacheMs }: CacheRules): number {
  const keepsHour = write5m + write1h === 0 && alike?.lifetimeMs === HOUR_MS;
  return write1h > 0 || keepsHour ? HOUR_MS : cacheMs;
}

/**
 * Facts of the request for the next bill.
 *
 * @param before - the directly continued request
 */
function factsKept(
  { atMs, model, tools, system, usage, cleared, wouldBeAside = 0 }: RequestFacts,
  before: Known | null,
) {
  return {
    reasoning: usage?.reasoning ?? null,
    wouldBeAside: wouldBeAside + (before?.wouldBeAside ?? 0),
    ...{ atMs, model, tools, system },
    ...(cleared && { cleared }),
  };
}

/**
 * Whether an answer reports cache figures. 0 is a figure and means a miss. Answers without usage count as reporting,
 * because their bill is an estimate that assumes a cache.
 */
export function hasCacheFigures(usage: ReportedUsage | null): boolean {
  return usage === null || usage.read !== null || usage.written !== null;
}

function sumOf(a: TokenCounts, b: TokenCounts): TokenCounts {
  if (b === NO_TOKENS) return a;
  return {
    fresh: a.fresh + b.fresh,
    write5m: a.write5m + b.write5m,
    write1h: a.write1h + b.write1h,
    read: a.read + b.read,
    output: a.output + b.output,
  };
}

/** Dollars of a reported usage, without a look at what was cut. @param served - see `pricing` */
export function dollarsServed(
  usage: ReportedUsage,
  { price, fees }: { readonly price: Price | null; readonly fees: number },
): number {
  if (price === null) return usage.cost ?? 0;
  const besides = usage.besides ? dollarsOf(countsOf(usage.besides), price) : 0;
  return dollarsOf(countsOf(usage), price) + besides + fees;
}

/** Reported counts by price class. */
export function countsOf({ input, output, read, written, written1h }: ReportedUsage, answerTokens = 0): TokenCounts {
  const cached = read ?? 0;
  const all = written ?? 0;
  const long = Math.min(all, written1h ?? 0);
  return {
    fresh: Math.max(0, (input ?? 0) - cached - all),
    write5m: all - long,
    write1h: long,
    read: cached,
    output: output ?? answerTokens,
  };
}

/**
 * Estimate for unreported usage: tokens that the last request left in the cache count as read, the rest as fresh, or as
 * written if the client requests caching.
 */
function expected(facts: RequestFacts, known: Known | null, calibration: number, rules: CacheRules): TokenCounts {
  const total = (facts.bytes / BYTES_PER_TOKEN) * calibration;
  const hits =
    known !== null && continuesFrom(known, facts, shared(known, facts.messages, true))
      ? Math.min(known.cached, total)
      : 0;
  const writes = !rules.automatic && facts.cacheUpTo !== null && total >= rules.minPrefix;
  const rest = total - hits;
  return {
    fresh: writes ? 0 : rest,
    write5m: writes ? rest : 0,
    write1h: 0,
    read: hits,
    output: facts.answerTokens ?? 0,
  };
}

/** Whether the cache left by one request is still completely readable by another. */
function continuesFrom(known: Known, facts: RequestFacts, common: number): boolean {
  return (
    known.model === facts.model &&
    known.tools === facts.tools &&
    known.system === facts.system &&
    clearsAlike(known, facts) &&
    common === known.messages.length &&
    facts.atMs - known.atMs <= known.lifetimeMs
  );
}

/** The price of a new token, in dollars. If the request wrote to a cache, new tokens are billed as written. */
export function entering(usage: TokenCounts, price: Price): number {
  return enteringAt(usage, ratesFor(price, inputOf(usage)));
}

function enteringAt(usage: TokenCounts, { write5m, write1h, input }: Rates): number {
  return (usage.write1h > 0 ? write1h : usage.write5m > 0 ? write5m : input) / 1_000_000;
}
