/** The context of a session after its last request: what it holds, and what its next turn costs because of that. */
export interface ContextFigures {
  readonly model: string;
  /** Tokens of the last request: fresh, read from the cache and written to it. */
  readonly tokens: number;
  /** Length at which the client compacts; `null` if unknown. */
  readonly threshold: number | null;
  /** Whether that was learned from the client's own compactions. */
  readonly isLearned: boolean;
  /** When the cache forgets the context, in epoch milliseconds; `null` if the provider reports no cache. */
  readonly cacheUntilMs: number | null;
  /** Dollars of the next turn for what the context holds, from a warm and from a cold cache; `null` without a price. */
  readonly next: { readonly warm: number; readonly cold: number } | null;
  /** Turns after which compacting now has paid for itself, while the cache is warm; `null` if unknown. */
  readonly compactPaysAfter: number | null;
}

/** One window in the figures of a status line. */
export interface WindowFigures {
  readonly window: string;
  readonly minutes: number;
  /** Ratios. */
  readonly used: number;
  /** Used by the session. */
  readonly session: number;
  /** Epoch milliseconds. */
  readonly resetsAtMs: number;
  readonly usedUpAtMs: number | null;
}

/** What the server knows for the status line of one session. Every field but `session` may be missing. */
export interface LineFigures {
  /** The client's id of the session; `null` if none is known. */
  readonly session: string | null;
  readonly context: ContextFigures | null;
  /** Those of the account that the session uses, or used last. */
  readonly windows: readonly WindowFigures[];
  /** Dollars that cuts saved in the session; `null` if unknown. */
  readonly savedDollars: number | null;
}
