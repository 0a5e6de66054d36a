/** What an answer says that a request cost, as far as it says so. */
export interface ChildRequestUsage {
  /** All of the input, what a cache gave or took included. */
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** Of the input: read from the provider's cache, and written to it. */
  readonly cacheRead: number;
  readonly cacheWritten: number;
  /** As the answer names it. */
  readonly model: string | null;
}

/** What the proxy asks about children: who a token is, whether a request may go on, and what it came to. */
export interface ChildGate {
  /** The child of a token, or why there is none. */
  admit(token: string): Promise<{ readonly childId: string } | 'child_unknown' | 'child_ended'>;
  /**
   * Counts one model request before it is forwarded. Never rejects: where the store fails, the request goes on.
   *
   * @returns the limit that forbids it, or `null`
   */
  reserve(childId: string): Promise<string | null>;
  /** Counts what a request came to. Never rejects. */
  settle(childId: string, usage: ChildRequestUsage): Promise<void>;
}
