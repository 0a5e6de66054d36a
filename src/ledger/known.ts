import type { MissCause, TokenCounts } from '../core/ports/ledger.ts';
import type { MessageFacts, RequestFacts } from '../core/ports/request-facts.ts';

/** Begins `MessageFacts.cuts` if a directive decides how the message is sent. */
const DIRECTED = '*';

/** A message of the conversation; `exact` are the tokens cut from it, if the provider counted them. */
export type KnownMessage = Pick<MessageFacts, 'prefix' | 'cuts'> & { readonly exact?: number };

export const NO_TOKENS: TokenCounts = { fresh: 0, write5m: 0, write1h: 0, read: 0, output: 0 };

/** The ledger's memory of a conversation's newest request. */
export interface Known {
  readonly atMs: number;
  readonly model: string;
  readonly tools: string;
  readonly system: string;
  readonly messages: readonly KnownMessage[];
  /** What replaced the cuts in the head of the request, and its exact size if the provider counted it. */
  readonly head?: { readonly cuts: string; readonly exact?: number };
  /** Whether any message has an `exact` count. */
  readonly counted: boolean;
  /** Billed tokens of each earlier request, by its number of messages; only of messages that are unchanged. */
  readonly marks: readonly Mark[];
  /** Tokens in the cache after it, as forwarded and without cuts. */
  readonly cached: number;
  readonly cachedWithout: number;
  /** All tokens of its input: as forwarded, and without cuts. */
  readonly tokens: number;
  readonly tokensWithout: number;
  readonly output: number;
  /** Tokens of hidden reasoning, included in `output`; `null` if the provider does not report them. */
  readonly reasoning: number | null;
  /** How long its cache lives after a use. */
  readonly lifetimeMs: number;
  /** Tokens that the provider cleared itself. Absent: none. */
  readonly cleared?: number;
  /** Estimated tokens that would have been put aside so far. Absent in old states: none. */
  readonly wouldBeAside?: number;
}

/**
 * The number of first messages that two requests share.
 *
 * @param withCuts - whether their cuts must be equal as well
 */
export function shared(known: Known, messages: readonly MessageFacts[], withCuts: boolean): number {
  const most = Math.min(known.messages.length, messages.length);
  for (let i = 0; i < most; i++) {
    const a = known.messages[i];
    const b = messages[i];
    if (a === b) continue; // most are the very same objects
    if (a?.prefix !== b?.prefix || (withCuts && a?.cuts !== b?.cuts)) return i;
  }
  return most;
}

/** Whether two requests have the same cuts before their messages. */
export function sharesHead(known: Known, { head }: RequestFacts): boolean {
  return (known.head?.cuts ?? '') === (head?.cuts ?? '');
}

/** Why a request read less from the cache than the one before it had left there. */
export interface Miss {
  readonly cause: MissCause;
  /** Index of the first message that differs; -1 if no message is the cause. */
  readonly at: number;
}

/**
 * Finds out why a request missed the cache, by comparing it with the previous one. Certain causes (changed bytes) take
 * precedence over likely ones.
 *
 * @param compacted - whether the request begins a conversation that continues from another one's summary
 */
export function causeOf(known: Known | null, facts: RequestFacts, compacted: boolean): Miss {
  if (known === null) {
    const cause = compacted ? 'compacted' : facts.fresh.from > 0 ? 'unknown' : 'first_request';
    return { cause, at: -1 };
  }
  if (known.model !== facts.model) return { cause: 'model_changed', at: -1 };
  if (known.tools !== facts.tools) return { cause: 'tools_changed', at: -1 };
  if (known.system !== facts.system) return { cause: 'system_changed', at: -1 };
  if (!sharesHead(known, facts)) return { cause: 'changed_by_us', at: -1 };
  const meant = shared(known, facts.messages, false);
  const sent = shared(known, facts.messages, true);
  const hasExpired = facts.atMs - known.atMs > known.lifetimeMs;
  if (sent < meant && isPutAside(known, facts, sent)) return { cause: hasExpired ? 'expired' : 'put_aside', at: -1 };
  if (sent < meant) return { cause: 'changed_by_us', at: sent };
  if (meant < known.messages.length) return { cause: 'message_changed', at: meant };
  if (hasExpired) return { cause: 'expired', at: -1 };
  if (!clearsAlike(known, facts)) return { cause: 'put_aside', at: -1 };
  return { cause: 'unknown', at: -1 };
}

/** Whether the cuts of a message differ because a directive about it was added or removed. */
function isPutAside(known: Known, facts: RequestFacts, at: number): boolean {
  return [known.messages[at], facts.messages[at]].some((message) => message?.cuts.startsWith(DIRECTED) === true);
}

/** Whether the provider cleared as many tokens of a request as of the one before. */
export function clearsAlike({ cleared = 0 }: Known, facts: Pick<RequestFacts, 'cleared'>): boolean {
  return cleared === (facts.cleared ?? 0);
}

/** The number of messages of the previous request, if the client changed none of them. */
export function answeredFrom({ fresh }: RequestFacts): number {
  return Math.max(0, fresh.answerFrom ?? fresh.from - 1);
}

const ALTERNATING: ReadonlySet<RequestFacts['wire']> = new Set(['responses', 'interactions']);

/**
 * Whether a request directly follows a known one, as far as its messages show. On these wires, calls and results
 * alternate within one answer, so the end of the previous request cannot be detected.
 */
export function follows(known: Known, facts: RequestFacts): boolean {
  const length = known.messages.length;
  if (shared(known, facts.messages, false) < length) return false;
  return ALTERNATING.has(facts.wire) || length >= answeredFrom(facts);
}

/**
 * Where the messages of a forwarded body are in the provider's tokens, and the tokens cut from each: one list of numbers
 * for each, because an object for each message of each request was most of what a bill allocated.
 */
export interface Layout {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  readonly removed: Float64Array;
}

/** Billed tokens of the first messages of a conversation, from an earlier request. */
interface Mark {
  readonly messages: number;
  readonly tokens: number;
}

/**
 * Distributes the tokens counted by a provider among the messages. Earlier bills give the exact ends of the messages
 * that were last at the time. Between and after these, tokens are divided in proportion to bytes. The rest belongs to
 * the head of the request.
 *
 * @param total - tokens of the whole input
 * @param bytes - of the whole body
 * @param marks - ascending
 * @param removedFrom - the provider's tokens that were cut from a message
 */
export function layOut(
  messages: readonly MessageFacts[],
  total: number,
  bytes: number,
  marks: readonly Mark[],
  removedFrom: (message: MessageFacts) => number,
): Layout {
  const count = messages.length;
  const layout = { starts: new Float64Array(count), ends: new Float64Array(count), removed: new Float64Array(count) };
  const inside = bytesIn(messages, 0, count);
  const head = bytes > 0 ? total * Math.max(0, 1 - inside / bytes) : 0;
  const fits = marks.filter(({ messages: until, tokens }) => until < count && tokens <= total);
  const ends: Mark[] = [...fits, { messages: count, tokens: total }];
  let from = 0;
  let at = ends[0] && ends[0].tokens < head ? 0 : head;
  for (const { messages: until, tokens } of ends) {
    const weight = bytesIn(messages, from, until);
    const room = Math.max(0, tokens - at);
    for (let i = from; i < until; i++) {
      const message = messages[i];
      if (message === undefined) break;
      const end = weight > 0 ? at + (room * message.bytes) / weight : at;
      layout.starts[i] = at;
      layout.ends[i] = end;
      // in shadow mode `removed` is negative: no more can be removed from a message than its tokens
      layout.removed[i] = Math.max(at - end, removedFrom(message));
      at = end;
    }
    at = Math.max(at, tokens);
    // rounding errors of the parts must not change the end of the whole
    if (until > from) layout.ends[until - 1] = at;
    from = Math.max(from, until);
  }
  return layout;
}

function bytesIn(messages: readonly MessageFacts[], from: number, until: number): number {
  let sum = 0;
  for (let i = from; i < until; i++) sum += messages[i]?.bytes ?? 0;
  return sum;
}

/** Tokens that were cut from messages `[from, until)`. */
export function removedIn({ removed }: Layout, from = 0, until = removed.length): number {
  let sum = 0;
  for (let i = from; i < until; i++) sum += removed[i] ?? 0;
  return sum;
}

/**
 * Replaces estimates of cuts with exact counts, of single messages and of all messages together.
 *
 * @param exact - of the first messages, `undefined` for those that are only estimated
 * @param total - of all messages; `null` if it is only an estimate, too
 */
export function settled(layout: Layout, exact: readonly (number | undefined)[], total: number | null): Layout {
  if (total === null && exact.length === 0) return layout;
  const known = { ...layout, removed: layout.removed.map((removed, i) => exact[i] ?? removed) };
  if (total === null) return known;
  const fixed = known.removed.reduce((sum, removed, i) => sum + (exact[i] === undefined ? 0 : removed), 0);
  const open = known.removed.reduce((sum, removed, i) => sum + (exact[i] === undefined ? removed : 0), 0);
  // if no estimate is left to adjust, the counts disagree, and the newer count of the whole is used
  const scale = open > 0 ? Math.max(0, total - fixed) / open : 1;
  const rest = open > 0 && total >= fixed ? 1 : fixed > 0 ? total / fixed : 1;
  return { ...known, removed: known.removed.map((removed, i) => removed * (exact[i] === undefined ? scale : rest)) };
}

/** Tokens that were cut before a position in the forwarded tokens. */
function removedBefore({ starts, ends, removed }: Layout, place: number): number {
  let sum = 0;
  for (let i = 0; i < removed.length; i++) {
    const start = starts[i] ?? 0;
    const end = ends[i] ?? 0;
    const own = removed[i] ?? 0;
    if (end <= place) sum += own;
    else if (start < place) sum += (own * (place - start)) / (end - start);
  }
  return sum;
}

/**
 * The bill without cuts, assuming that the cache hits at the same positions.
 *
 * @param head - tokens that were cut in front of the messages, where every cached prefix begins
 */
export function withoutCuts(usage: TokenCounts, layout: Layout, head: number): TokenCounts {
  const cutsUpTo = (place: number): number => (place > 0 ? head : 0) + removedBefore(layout, place);
  // the longer lifetime is first, as the provider requires
  const at1h = usage.read + usage.write1h;
  const at5m = at1h + usage.write5m;
  const all = head + removedIn(layout);
  const read = cutsUpTo(usage.read);
  const long = usage.write1h > 0 ? cutsUpTo(at1h) : read;
  const short = usage.write5m > 0 ? cutsUpTo(at5m) : long;
  return {
    read: usage.read + read,
    write1h: usage.write1h + long - read,
    write5m: usage.write5m + short - long,
    fresh: usage.fresh + all - short,
    output: usage.output,
  };
}
