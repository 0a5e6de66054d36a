/** The usage that an answer reports for a request. */
export interface ExchangeUsage {
  /** All of the input, including what was read from a cache or written to it. */
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** Of the input: read from the provider's cache, and written to it. */
  readonly cacheRead: number;
  readonly cacheWritten: number;
  /** As the answer names it. */
  readonly model: string | null;
}
