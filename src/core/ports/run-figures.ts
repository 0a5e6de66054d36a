/** What one run of an agent did, as `GET /run/<id>` answers. */
export interface RunFigures {
  /** Number of requests that a model answered, and that failed. */
  readonly requests: number;
  readonly failed: number;
  /** Requests in progress, and answered ones that are not billed yet. */
  readonly open: number;
  /** Texts that were cut, or in shadow mode would have been; their tokens, and how many of these were removed. */
  readonly cuts: number;
  readonly tokens: number;
  readonly removed: number;
  /** Whether a project was in shadow mode: nothing of it was cut. */
  readonly shadow: boolean;
  /** Prune id of the largest cut, or `''`; and the last conversation. */
  readonly largest: string;
  readonly conversation: string;
  /** Number of new texts that were left whole, by code. */
  readonly leftWhole: Readonly<Record<string, number>>;
  /** Dollars of all requests, as billed and as they would have been without cuts; `null` if a price is unknown. */
  readonly dollars: number | null;
  readonly dollarsWithout: number | null;
  /** What its requests used of the limits of a subscription, as ratios; empty without one. */
  readonly limits: readonly { readonly window: string; readonly used: number }[];
}
