import { ExactLruMap } from '../base/bounded-map.ts';
import { TIMED_OUT } from '../core/decide/time-limits.ts';
import type { HistoryUnknown } from '../core/sent/history-unknown.ts';
import { storeReason } from '../errors/errors.ts';

/** Clients resend a request for some 50 seconds. */
const MAX_MS = 45_000;
/** A conversation without such a request for this long gets the whole time again. */
const FORGOTTEN_MS = 5 * 60_000;
const MAX_CONVERSATIONS = 10_000;

/**
 * Remembers since when conversations have been answered with 503, because it is not known how their history was sent.
 * After 45 seconds they are forwarded whole.
 */
export class HistoryRefusals {
  /** Arrival of the first refused request, as `performance.now()`, by conversation. */
  readonly #since = new ExactLruMap<string, number>(MAX_CONVERSATIONS, FORGOTTEN_MS);
  readonly #nowMs: () => number;

  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** When the time of a conversation ends. @param arrivedMs - arrival of its request */
  endMs(conversation: string, arrivedMs: number): number {
    return (this.#since.peek(conversation) ?? arrivedMs) + MAX_MS;
  }

  /** Whether a request may be answered with 503, which it then must be. */
  refuses(conversation: string, arrivedMs: number): boolean {
    const endMs = this.endMs(conversation, arrivedMs);
    this.#since.set(conversation, endMs - MAX_MS);
    return this.#nowMs() < endMs;
  }
}

/**
 * Whether a history is unknown for a moment only, so that the same request may succeed in a few seconds: a lock or a
 * time-out, unlike a database that cannot be reached.
 */
export function isMomentary({ cause }: HistoryUnknown): boolean {
  return cause === TIMED_OUT || storeReason(cause) === 'locked';
}
