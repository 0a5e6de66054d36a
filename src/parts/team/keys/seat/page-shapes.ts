/** A key on the page. */
export interface KeyOnPage {
  readonly id: string;
  readonly name: string;
  readonly projects: readonly string[];
  readonly state: 'open' | 'expired' | 'revoked';
  readonly requests_per_minute: number | null;
  readonly tokens_per_day: number | null;
  readonly dollars_per_month: number | null;
  /** Epoch milliseconds; `null`: never. */
  readonly last_used_ms: number | null;
  /** Requests of the last 30 days. */
  readonly requests: number;
  readonly dollars: number;
  readonly dollarsThisMonth: number;
  readonly tokensToday: number;
}

export interface KeysShown {
  /** In descending order of their spending. */
  readonly keys: readonly KeyOnPage[];
  /** Whether there are keys that are not listed. */
  readonly hasMore: boolean;
}
