import type { ExchangeUsage } from 'mcp-pruner/core/ports/exchange-usage.ts';

/** The proxy's interface to children: identifies them by token, admits their requests, and records usage. */
export interface ChildGate {
  /** Finds the child of a token, or why there is none. */
  admit(token: string): Promise<{ readonly childId: string } | 'child_unknown' | 'child_ended'>;
  /**
   * Counts one model request before it is forwarded. Never rejects: if the store fails, the request proceeds.
   *
   * @returns the limit that forbids it, or `null`
   */
  reserve(childId: string): Promise<string | null>;
  /** Records the usage of a request. Never rejects. */
  settle(childId: string, usage: ExchangeUsage): Promise<void>;
}
