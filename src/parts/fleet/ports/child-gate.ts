import type { ExchangeUsage } from '../../../core/ports/exchange-usage.ts';

/** The proxy's interface to children: identifies them by token, admits their requests, and records their use. */
export interface ChildGate {
  /** The child of a token, or why there is none. */
  admit(token: string): Promise<{ readonly childId: string } | 'child_unknown' | 'child_ended'>;
  /**
   * Counts one model request before it is forwarded. Never rejects: if the store fails, the request proceeds.
   *
   * @returns the limit that forbids it, or `null`
   */
  reserve(childId: string): Promise<string | null>;
  /** Counts what a request used. Never rejects. */
  settle(childId: string, usage: ExchangeUsage): Promise<void>;
}
