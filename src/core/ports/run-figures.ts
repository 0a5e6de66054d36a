/** Figures of one agent run, as returned by `GET /run/<id>`. */
export interface RunFigures {
  /** Number of requests that were answered, and that failed. */
  readonly requests: number;
  readonly failed: number;
  /** Requests in flight, and answered ones that are not billed yet. */
  readonly open: number;
  /** Texts that were cut (in shadow mode: would have been), their tokens, and how many of these were removed. */
  readonly cuts: number;
  readonly tokens: number;
  readonly removed: number;
  /** Whether any project was in shadow mode, in which nothing is cut. */
  readonly shadow: boolean;
  /** Prune id of the largest cut, or `''`; and the id of the last conversation. */
  readonly largest: string;
  readonly conversation: string;
  /** Number of new texts that were left whole, by code. */
  readonly leftWhole: Readonly<Record<string, number>>;
  /** Number of answers in which the model wrote a marker into a file. Absent: none. */
  readonly markersWritten?: number;
  /** Dollars of all requests, as billed and as they would have been without cuts; `null` if a price is unknown. */
  readonly dollars: number | null;
  readonly dollarsWithout: number | null;
  /** The run's share of the subscription limits, as ratios; empty without a subscription. */
  readonly limits: readonly { readonly window: string; readonly used: number }[];
}
