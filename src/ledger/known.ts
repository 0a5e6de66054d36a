import type { MissCause } from '../core/ports/ledger.ts';
import type { MessageFacts, RequestFacts } from '../core/ports/request-facts.ts';
import type { Mark } from './layout.ts';

/** A message of the conversation; `exact` are the tokens cut from it, if the provider counted them. */
type KnownMessage = Pick<MessageFacts, 'prefix' | 'cuts'> & { readonly exact?: number };

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
 * Compares a request with the one before it. Certain causes (other bytes) come before likely ones.
 *
 * @param compacted - it begins a conversation that goes on from a summary of another one
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
  if (sent < meant) return { cause: 'changed_by_us', at: sent };
  if (meant < known.messages.length) return { cause: 'message_changed', at: meant };
  if (facts.atMs - known.atMs > known.lifetimeMs) return { cause: 'expired', at: -1 };
  return { cause: 'unknown', at: -1 };
}

/** The number of messages of the previous request, if the client changed none of them. */
export function answeredFrom({ fresh }: RequestFacts): number {
  return Math.max(0, fresh.answerFrom ?? fresh.from - 1);
}

/**
 * Whether a request follows a known one without another in between, as far as its messages show. On the Responses wire calls
 * and results alternate inside one answer, so that the end of the request before cannot be seen.
 */
export function follows(known: Known, facts: RequestFacts): boolean {
  const length = known.messages.length;
  if (shared(known, facts.messages, false) < length) return false;
  return facts.wire === 'responses' || length >= answeredFrom(facts);
}
