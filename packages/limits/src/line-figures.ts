/** Context of a session after its last request: size, and resulting cost of the next turn. */
export interface ContextFigures {
  readonly model: string;
  /** Input tokens of the last request: fresh, cache reads and cache writes. */
  readonly tokens: number;
  /** Length at which the client compacts; `null` if unknown. */
  readonly threshold: number | null;
  /** Whether the length was learned from the client's own compactions. */
  readonly isLearned: boolean;
  /** When the cache expires, in epoch milliseconds; `null` if the provider reports no cache. */
  readonly cacheUntilMs: number | null;
  /** Cost of the context in the next turn, in dollars, with a warm and with a cold cache; `null` without a price. */
  readonly next: { readonly warm: number; readonly cold: number } | null;
  /** Number of turns after which compacting now pays off with a warm cache; `null` if unknown. */
  readonly compactPaysAfter: number | null;
}

export interface WindowFigures {
  readonly window: string;
  readonly minutes: number;
  /** Ratios. */
  readonly used: number;
  readonly session: number;
  /** Epoch milliseconds. */
  readonly resetsAtMs: number;
  readonly usedUpAtMs: number | null;
}

/** Server figures for the status line of a session. All fields except `session` may be missing. */
export interface LineFigures {
  /** The client's session id; `null` if unknown. */
  readonly session: string | null;
  readonly context: ContextFigures | null;
  /** Windows of the account that the session uses or last used. */
  readonly windows: readonly WindowFigures[];
  /** Finished work of the session in words; `null` if it is small or unknown. */
  readonly finished: string | null;
  /** Dollars saved by cuts in the session; `null` if unknown. */
  readonly savedDollars: number | null;
}
