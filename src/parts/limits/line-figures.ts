import type { ContextFigures } from './meter.ts';

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
