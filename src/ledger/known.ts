import type { MissCause } from '../core/ports/ledger.ts';
import type { MessageFacts, RequestFacts } from '../core/ports/request-facts.ts';
import type { Mark } from './layout.ts';

/** A message of the conversation; `exact` are the tokens cut from it, if the provider counted them. */
type KnownMessage = Pick<MessageFacts, 'prefix' | 'cuts'> & { readonly exact?: number };

/** What the ledger remembers of a conversation's newest request. */
export interface Known {
  readonly atMs: number;
  readonly model: string;
  readonly tools: string;
  readonly system: string;
  readonly messages: readonly KnownMessage[];
  /** What replaced the cuts in the head of the request, and its exact size if the provider counted it. */
  readonly head?: { readonly cuts: string; readonly exact?: number };
  /** Some of them have an `exact`. */
  readonly counted: boolean;
  /** Billed tokens of each earlier request, by its number of messages; only of messages that are unchanged. */
  readonly marks: readonly Mark[];
  /** Tokens in the cache after it: as forwarded, and as they would be without cuts. */
  readonly cached: number;
  readonly cachedWithout: number;
  /** All tokens of its input: as forwarded, and without cuts. */
  readonly tokens: number;
  readonly tokensWithout: number;
  readonly output: number;
  /** Of `output`, hidden reasoning; `null` where the provider does not report it. */
  readonly reasoning: number | null;
  /** How long its cache lives after a use. */
  readonly lifetimeMs: number;
}

/** How many messages two requests share from their beginning on, cuts included or not. */
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

/** Whether the same was cut in front of the messages of two requests. */
export function sharesHead(known: Known, { head }: RequestFacts): boolean {
  return (known.head?.cuts ?? '') === (head?.cuts ?? '');
}

/** Why a request was not read from the cache as far as the one before it had left it there. */
export interface Miss {
  readonly cause: MissCause;
  /** The first message that is another one; -1 where no message is the cause. */
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

/** Messages that the request before this one had, where the client changed none of them. */
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
