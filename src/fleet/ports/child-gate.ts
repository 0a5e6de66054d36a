import type { ExchangeUsage } from '../../core/ports/exchange-usage.ts';

/** What the proxy asks about children: whose token it is, whether a request may continue, and what it used. */
export interface ChildGate {
  /** The child of a token, or why there is none. */
  admit(token: string): Promise<{ readonly childId: string } | 'child_unknown' | 'child_ended'>;
  /**
   * Counts one model request before it is forwarded. Never rejects: where the store fails, the request goes on.
   *
   * @returns the limit that forbids it, or `null`
   */
  reserve(childId: string): Promise<string | null>;
  /** Counts what a request used. Never rejects. */
  settle(childId: string, usage: ExchangeUsage): Promise<void>;
}
