import type { BilledFigures, TokenCounts } from '../core/ports/ledger.ts';
import type { HeadFacts, ReportedUsage, RequestFacts } from '../core/ports/request-facts.ts';
import {
  answeredFrom,
  causeOf,
  clearsAlike,
  follows,
  type Known,
  type Layout,
  layOut,
  removedIn,
  settled,
  shared,
  sharesHead,
  withoutCuts,
} from './known.ts';
import { dollarsOf, inputOf, type Price, ratesFor } from './prices.ts';

/**
 * The bill of a request, with its counterfactual bill without cuts and the facts that the next request's bill needs.
 */
export interface Bill extends BilledFigures {
  readonly usage: TokenCounts;
  readonly without: TokenCounts;
  /** The part of `removed` that was cut before the messages. */
  readonly head: HeadSaving;
  /** Index of the first message that occurs in no known earlier request. */
  readonly newFrom: number;
  /**
   * Removed tokens by the provider's count and by the uncalibrated estimate; `null` if the provider did not count them.
   */
  readonly checked: { readonly exact: number; readonly estimated: number } | null;
  /** Price of a token that is new in this request, in dollars. */
  readonly entering: number | null;
  readonly known: Known;
}

/** The saving of cuts before the messages: in the provider's tokens, and in dollars (0 for a model without a price). */
export interface HeadSaving {
  readonly tokens: number;
  readonly dollars: number;
}

/** The inputs of a bill apart from the facts of the request and of the one before. */
export interface BillBasis {
  /** `null` for a model without a price: tokens only. */
  readonly price: Price | null;
  /** The provider's tokens per estimated token. */
  readonly calibration: number;
  /**
   * The number of the provider's tokens that were cut from a message, or before the messages. Default: the calibrated
   * estimate.
   */
  readonly removedFrom?: (message: HeadFacts) => number;
  /** The provider has reported cache figures for this model before, so absent ones mean 0. Default: unknown. */
  readonly reportsCache?: boolean;
  /** The request begins a conversation that continues from a summary of another one. */
  readonly compacted?: boolean;
}

const HOUR_MS = 3_600_000;
const MINUTES_5_MS = 300_000;
const BYTES_PER_TOKEN = 4;
/** Maximum number of earlier bills kept per conversation; they show where messages end. */
const MAX_MARKS = 64;
/** A miss of less than this share of the expected tokens is attributed to rounding by the provider. */
const ROUNDING = 0.01;
/**
 * Like `ROUNDING`, for a conversation whose earlier requests are unknown: the tokens that should have been read are
 * then estimated from bytes.
 */
const ESTIMATED_ROUNDING = 0.1;
/** Cache rules assumed for models without a price; lengths in tokens. */
const UNPRICED = { minPrefix: 1_024, cacheStep: 1, automatic: false, cacheMs: MINUTES_5_MS };

/**
 * Bills one request.
 *
 * @param known - the state after the request that it continues, if there is one
 */
export function billOf(facts: RequestFacts, known: Known | null, basis: BillBasis): Bill {
  const { price, calibration, removedFrom = ({ removed }) => removed * calibration } = basis;
  const rules = rulesFor(facts, price);
  const counts =
    facts.usage === null ? expected(facts, known, calibration, rules) : countsOf(facts.usage, facts.answerTokens);
  const usage = { ...counts, output: Math.max(counts.output, facts.metered?.output ?? 0) };
  const total = inputOf(usage);
  const common = known === null ? 0 : shared(known, facts.messages, true);
  const isMarked = known !== null && clearsAlike(known, facts);
  const marks = isMarked ? known.marks.filter(({ messages: count }) => count <= common) : [];
  const exactly = exactRemoved(facts, total);
  const estimated = layOut(facts.messages, total, facts.bytes, marks, removedFrom);
  const head = headOf(facts, known, exactly, removedFrom);
  const layout = settled(estimated, exactOf(known, common), exactly === null ? null : Math.max(0, exactly - head));
  const alike = known !== null && continuesFrom(known, facts, common);
  const direct = known !== null && follows(known, facts);
  const newFrom = direct ? common : Math.max(common, facts.fresh.from);
  const caches = basis.reportsCache === true || hasCacheFigures(facts.usage);
  const continued = alike && direct ? known : null;
  const withoutAnd = (uncut: number, cachedWithout = 0): TokenCounts =>
    caches
      ? twinOf(facts, usage, { layout, head: uncut }, continued && { ...continued, cachedWithout }, rules)
      : withoutCuts(usage, layout, uncut);
  const without = withoutAnd(head, continued?.cachedWithout);
  // the bill with the cuts in the head only, which the previous request had as well
  const withHead = head > 0 && price ? withoutAnd(0, Math.max(0, (continued?.cachedWithout ?? 0) - head)) : without;
  const written = usage.write5m + usage.write1h;
  // other model calls of the same request have their own context
  const besides = facts.usage?.besides ? countsOf(facts.usage.besides) : NO_TOKENS;
  const besideDollars = price && dollarsOf(besides, price);
  const removed = head + removedIn(layout);
  const isFirst = known === null && facts.fresh.from === 0;
  const next: Known = {
    atMs: facts.atMs,
    model: facts.model,
    tools: facts.tools,
    system: facts.system,
    messages: remembered(facts, layout, known, common, exactly !== null),
    ...(facts.head && { head: { cuts: facts.head.cuts, ...(exactly !== null && { exact: head }) } }),
    counted: exactly !== null || (known?.counted ?? false),
    marks: [...marks, { messages: facts.messages.length, tokens: total }].slice(-MAX_MARKS),
    cached: cachedTokens(usage, rules),
    cachedWithout: cachedTokens(without, rules),
    tokens: total,
    tokensWithout: inputOf(without),
    output: usage.output,
    reasoning: facts.usage?.reasoning ?? null,
    ...(facts.cleared && { cleared: facts.cleared }),
    lifetimeMs: usage.write1h > 0 || (alike && written === 0 && known.lifetimeMs === HOUR_MS) ? HOUR_MS : rules.cacheMs,
  };
  return {
    usage: sumOf(usage, besides),
    estimated: facts.usage === null || facts.usage.input === null || facts.usage.output === null,
    without: sumOf(without, besides),
    dollars: price && dollarsOf(usage, price) + (besideDollars ?? 0),
    dollarsWithout: price && dollarsOf(without, price) + (besideDollars ?? 0),
    removed,
    removedNew: (isFirst ? head : 0) + removedIn(layout, newFrom),
    head: { tokens: head, dollars: price ? dollarsOf(without, price) - dollarsOf(withHead, price) : 0 },
    newFrom,
    checked: exactly === null ? null : { exact: exactly, estimated: sumOfRemoved(facts) },
    ...(caches && facts.usage !== null ? missOf(facts, known, usage, basis, layout) : noMiss(price)),
    entering: price && entering(usage, price),
    known: next,
  };
}

/** Tokens removed from a request, according to the provider's own counts; `null` if a count is missing. */
function exactRemoved({ counted, usage }: RequestFacts, total: number): number | null {
  const input = counted?.input ?? null;
  return input === null || usage === null || usage.input === null ? null : Math.max(0, input - total);
}

function sumOfRemoved({ messages, head }: RequestFacts): number {
  return messages.reduce((sum, { removed }) => sum + removed, head?.removed ?? 0);
}

/**
 * The number of the provider's tokens that were cut before the messages.
 *
 * @param exactly - exact tokens of all cuts, if the provider counted them
 */
function headOf(
  { head, messages }: RequestFacts,
  known: Known | null,
  exactly: number | null,
  removedFrom: (head: HeadFacts) => number,
): number {
  if (!head) return 0;
  if (exactly !== null && messages.every(({ removed }) => removed === 0)) return exactly;
  const before = known?.head?.cuts === head.cuts ? known.head.exact : undefined;
  return Math.min(before ?? Math.max(0, removedFrom(head)), exactly ?? Number.POSITIVE_INFINITY);
}

/** The exact counts of the messages that two requests share; empty if no request was counted. */
function exactOf(known: Known | null, common: number): readonly (number | undefined)[] {
  return known === null || !known.counted ? [] : known.messages.slice(0, common).map(({ exact }) => exact);
}

/** Messages as remembered, with the tokens cut from each if the provider counted them. */
function remembered(
  { messages }: RequestFacts,
  layout: Layout,
  known: Known | null,
  common: number,
  counted: boolean,
): Known['messages'] {
  const exact = exactOf(known, common);
  if (!counted && exact.length === 0) return messages;
  return messages.map(({ prefix, cuts }, i) => {
    const removed = counted ? layout.removed[i] : exact[i];
    return { prefix, cuts, exact: removed };
  });
}

/**
 * Whether an answer reports cache figures. 0 is a figure: the cache missed. An answer without any usage counts as one
 * with figures, because its bill is an estimate that assumes a cache.
 */
export function hasCacheFigures(usage: ReportedUsage | null): boolean {
  return usage === null || usage.read !== null || usage.written !== null;
}

const NO_TOKENS: TokenCounts = { fresh: 0, write5m: 0, write1h: 0, read: 0, output: 0 };

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

/** The reported counts, by the price that applies to them. */
function countsOf({ input, output, read, written, written1h }: ReportedUsage, answerTokens = 0): TokenCounts {
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
 * An estimate if no usage was reported: the tokens that the last request left in the cache are read, and the rest is
 * fresh, or written if the client requests caching.
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

/** Whether another request can still read the whole cache that a request left. */
function continuesFrom(known: Known, facts: RequestFacts, common: number): boolean {
  return (
    known.model === facts.model &&
    known.tools === facts.tools &&
    known.system === facts.system &&
    sharesHead(known, facts) &&
    clearsAlike(known, facts) &&
    common === known.messages.length &&
    facts.atMs - known.atMs <= known.lifetimeMs
  );
}

type CacheRules = Pick<Price, 'minPrefix' | 'cacheStep' | 'automatic' | 'cacheMs'>;

/**
 * The rules of the provider's cache. If the request does not ask for caching and no writes are reported, the cache is
 * automatic, if there is one.
 */
function rulesFor({ cacheUpTo, usage }: RequestFacts, price: Price | null): CacheRules {
  const rules = price ?? UNPRICED;
  if (rules.automatic || cacheUpTo !== null || usage === null || usage.written !== null) return rules;
  const { minPrefix, cacheStep, cacheMs } = rules;
  return { minPrefix, cacheStep, cacheMs, automatic: true };
}

/** Tokens in the cache after a request. */
function cachedTokens(usage: TokenCounts, rules: CacheRules): number {
  const reported = usage.read + usage.write5m + usage.write1h;
  if (!rules.automatic) return reported;
  return Math.max(reported, stepped(inputOf(usage), rules));
}

function stepped(tokens: number, { cacheStep, minPrefix }: CacheRules): number {
  return tokens < minPrefix ? 0 : Math.floor(tokens / cacheStep) * cacheStep;
}

/** The cuts in messages and before them. */
interface Cuts {
  readonly layout: Layout;
  readonly head: number;
}

/**
 * The bill of the same request without any cuts. Cache hits stay the same; only the effects of length are recalculated
 * (minimum length and step of cached prefixes). If the whole cache was hit, the counterfactual request reads everything
 * that its own predecessor left there; if the cuts of that predecessor are estimated better by now, the difference is
 * billed here.
 */
function twinOf(
  facts: RequestFacts,
  usage: TokenCounts,
  cuts: Cuts,
  known: Known | null,
  rules: CacheRules,
): TokenCounts {
  const { layout, head } = cuts;
  const twin = withoutCuts(usage, layout, head);
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
  if (missed) return twin; // the cache existed and missed, so it would have missed for the longer prefix as well
  const wrote = usage.write5m + usage.write1h > 0;
  // long enough and still not written: the provider would not have written the longer one either
  if (!wrote && endOf(layout, facts.cacheUpTo) >= rules.minPrefix) return twin;
  const upTo = wrote ? twin.write5m + twin.write1h : endWithout(cuts, facts.cacheUpTo);
  if (upTo < rules.minPrefix) return twin;
  const read = Math.min(known?.cachedWithout ?? 0, upTo);
  const hourUpTo = wrote ? twin.write1h : Math.min(upTo, hourEndWithout(facts, cuts, rules));
  const write1h = Math.max(0, hourUpTo - read);
  return { read, write1h, write5m: upTo - read - write1h, fresh: total - upTo, output: usage.output };
}

/**
 * The end, without cuts, of the part that a breakpoint writes for an hour; 0 if that part is too short to be cached.
 */
function hourEndWithout({ cacheHourUpTo }: RequestFacts, cuts: Cuts, rules: CacheRules): number {
  const end = cacheHourUpTo == null ? 0 : endWithout(cuts, cacheHourUpTo);
  return end < rules.minPrefix ? 0 : end;
}

/** Changes the number of tokens read from the cache. The order of tokens is: read, written for an hour, the rest. */
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

/** The end of the first messages of a request, in forwarded tokens. */
function endOf({ starts, ends }: Layout, messages: number): number {
  return ends[Math.min(messages, ends.length) - 1] ?? starts[0] ?? 0;
}

/** The same without cuts. */
function endWithout({ layout, head }: Cuts, messages: number): number {
  return head + endOf(layout, messages) + removedIn(layout, 0, Math.min(messages, layout.removed.length));
}

/** The price of a new token, in dollars. If the request wrote to a cache, new tokens are billed as written. */
export function entering(usage: TokenCounts, price: Price): number {
  const { write5m, write1h, input } = ratesFor(price, inputOf(usage));
  return (usage.write1h > 0 ? write1h : usage.write5m > 0 ? write5m : input) / 1_000_000;
}

type MissFigures = Pick<Bill, 'miss' | 'missAt' | 'missTokens' | 'missDollars'>;

function noMiss(price: Price | null): MissFigures {
  return { miss: null, missAt: -1, missTokens: 0, missDollars: price && 0 };
}

/** The tokens that should have been read from the cache and were not, with the cause. */
function missOf(
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
  // what the request no longer contains cannot be missed, and a small difference is rounding
  if (tokens <= Math.max(rounding * should, price?.cacheStep ?? 1)) return noMiss(price);
  const { cause, at } = causeOf(known, facts, compacted);
  // order: read tokens, written ones, fresh ones
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
