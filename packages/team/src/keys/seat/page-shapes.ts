export interface KeyOnPage {
  readonly id: string;
  readonly name: string;
  readonly projects: readonly string[];
  readonly state: 'open' | 'expired' | 'revoked';
  readonly requests_per_minute: number | null;
  readonly tokens_per_day: number | null;
  readonly dollars_per_month: number | null;
  /** Epoch milliseconds; `null` if never used. */
  readonly last_used_ms: number | null;
  /** Number of requests in the last 30 days. */
  readonly requests: number;
  readonly dollars: number;
  readonly dollarsThisMonth: number;
  readonly tokensToday: number;
}

export interface KeysShown {
  /** By spend, descending. */
  readonly keys: readonly KeyOnPage[];
  readonly hasMore: boolean;
}
