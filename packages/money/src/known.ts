import type { MissCause, TokenCounts } from 'mcp-pruner/core/ports/ledger.ts';
import type { MessageFacts, RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';

/** Prefix of `MessageFacts.cuts` if a directive decides how the message is sent. */
const DIRECTED = '*';

/** A remembered message. */
export type KnownMessage = Pick<MessageFacts, 'prefix' | 'cuts'>;

export const NO_TOKENS: TokenCounts = { fresh: 0, write5m: 0, write1h: 0, read: 0, output: 0 };

/** The ledger's memory of a conversation's newest request. */
export interface Known {
  readonly atMs: number;
  readonly model: string;
  readonly tools: string;
  readonly system: string;
  readonly messages: readonly KnownMessage[];
  /** Billed tokens of earlier requests, by number of messages; only for unchanged messages. */
  readonly marks: readonly Mark[];
  /** Cached tokens after the request, as forwarded and without cuts. */
  readonly cached: number;
  readonly cachedWithout: number;
  /** All input tokens, as forwarded and without cuts. */
  readonly tokens: number;
  readonly tokensWithout: number;
  readonly output: number;
  /** Hidden reasoning tokens, included in `output`; `null` if not reported. */
  readonly reasoning: number | null;
  /** Cache lifetime after a use. */
  readonly lifetimeMs: number;
  /** Tokens cleared by the provider; absent if none. */
  readonly cleared?: number;
  /** Estimated tokens that would have been put aside so far; absent if none, or in old states. */
  readonly wouldBeAside?: number;
}

/**
 * Length of the common message prefix of two requests.
 *
 * @param withCuts - whether the cuts must be equal, too
 */
export function shared(known: Known, messages: readonly MessageFacts[], withCuts: boolean): number {
  const most = Math.min(known.messages.length, messages.length);
  for (let i = 0; i < most; i++) {
    const a = known.messages[i];
    const b = messages[i];
    if (a === b) continue; // most are identical objects
    if (a?.prefix !== b?.prefix || (withCuts && a?.cuts !== b?.cuts)) return i;
  }
  return most;
}

/** Why a request read less from the cache than the previous one had left there. */
export interface Miss {
  readonly cause: MissCause;
  /** Index of the first differing message; -1 if no message is the cause. */
  readonly at: number;
}

/**
 * Determines why a request missed the cache by comparing it with the previous one. Certain causes (changed bytes) take
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

/** Whether the provider cleared the same number of tokens in both requests. */
export function clearsAlike({ cleared = 0 }: Known, facts: RequestFacts): boolean {
  return cleared === (facts.cleared ?? 0);
}

/** Number of messages in the previous request, provided the client changed none of them. */
export function answeredFrom({ fresh }: RequestFacts): number {
  return Math.max(0, fresh.answerFrom ?? fresh.from - 1);
}

const ALTERNATING: ReadonlySet<RequestFacts['wire']> = new Set(['responses', 'interactions']);

/**
 * Whether a request directly follows a known one, judging by its messages. On these wires, calls and results alternate
 * within one answer, so the end of the previous request cannot be detected.
 */
export function follows(known: Known, facts: RequestFacts): boolean {
  const length = known.messages.length;
  if (shared(known, facts.messages, false) < length) return false;
  return ALTERNATING.has(facts.wire) || length >= answeredFrom(facts);
}

/**
 * Positions of messages in the provider's tokens, and tokens cut from each. Stored as lists of numbers, because objects
 * per message dominated a bill's allocations.
 */
export interface Layout {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  readonly removed: Float64Array;
}

/** Billed tokens of a conversation's leading messages, from an earlier request. */
export interface Mark {
  readonly messages: number;
  readonly tokens: number;
}

/**
 * Distributes the tokens counted by a provider among the messages. Earlier bills give the exact ends of messages that
 * were last at the time. Between and after these, tokens are divided in proportion to bytes. The rest belongs to the
 * request's head.
 *
 * @param total - tokens of the whole input
 * @param bytes - of the whole body
 * @param marks - ascending
 * @param calibration - provider tokens per estimated token
 */
export function layOut(
  messages: readonly MessageFacts[],
  total: number,
  bytes: number,
  marks: readonly Mark[],
  calibration: number,
): Layout {
  const count = messages.length;
  const layout = { starts: new Float64Array(count), ends: new Float64Array(count), removed: new Float64Array(count) };
  const inside = bytesIn(messages, 0, count);
  const head = bytes > 0 ? total * Math.max(0, 1 - inside / bytes) : 0;
  const ends: Mark[] = [];
  for (const mark of marks) if (mark.messages < count && mark.tokens <= total) ends.push(mark);
  ends.push({ messages: count, tokens: total });
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
      // `removed` is negative in shadow mode, and no more than a message's own tokens can be removed
      layout.removed[i] = Math.max(at - end, message.removed * calibration);
      at = end;
    }
    at = Math.max(at, tokens);
    // rounding errors of the parts must not shift the end of the whole
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

/** Tokens cut from messages `[from, until)`. */
export function removedIn({ removed }: Layout, from = 0, until = removed.length): number {
  let sum = 0;
  for (let i = from; i < until; i++) sum += removed[i] ?? 0;
  return sum;
}

/** Tokens cut before a position in the forwarded tokens. */
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

/** The bill without cuts, assuming that the cache hits at the same positions. */
export function withoutCuts(usage: TokenCounts, layout: Layout): TokenCounts {
  // the longer lifetime comes first, as required by the provider
  const at1h = usage.read + usage.write1h;
  const at5m = at1h + usage.write5m;
  const all = removedIn(layout);
  const read = removedBefore(layout, usage.read);
  const long = usage.write1h > 0 ? removedBefore(layout, at1h) : read;
  const short = usage.write5m > 0 ? removedBefore(layout, at5m) : long;
  return {
    read: usage.read + read,
    write1h: usage.write1h + long - read,
    write5m: usage.write5m + short - long,
    fresh: usage.fresh + all - short,
    output: usage.output,
  };
}
