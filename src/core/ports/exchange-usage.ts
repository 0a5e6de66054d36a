/** Usage of one request, as reported in the answer. */
export interface ExchangeUsage {
  /** All input tokens, including cache reads and writes. */
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** Input tokens read from the provider's cache, and written to it. */
  readonly cacheRead: number;
  readonly cacheWritten: number;
  /** Model name in the answer. */
  readonly model: string | null;
}
