import type { Arm } from 'mcp-pruner/core/ports/ledger.ts';
import type { Difference } from 'mcp-pruner/core/ports/ledger-report.ts';

/** Finished work of the conversation that was active last; in `limits --json` without the client. */
export interface SeamShown {
  readonly conversation: string;
  readonly weight_tokens: number;
  /** Dollars of one more request; `null` without a price. */
  readonly price_usd: number | null;
  /** Product name of its client; `''` if unknown. */
  readonly client: string;
}

/** Limits of subscriptions, and their usage. All figures are ratios of a window. */
export interface LimitsReport {
  readonly accounts: readonly AccountShown[];
}

export interface AccountShown {
  /** A hash of the provider's account id. */
  readonly account: string;
  readonly provider: string;
  readonly plan: string | null;
  readonly windows: readonly WindowShown[];
}

/** `used` is the sum over all sessions plus `elsewhere`. */
export interface WindowShown {
  readonly window: string;
  readonly minutes: number;
  readonly used: number;
  readonly status: string | null;
  /** ISO 8601. */
  readonly resetsAt: string;
  /** Projection at the rate of the last 24 hours; `null` if the window lasts until the reset. */
  readonly pace: { readonly usedUpAt: string | null };
  /** Usage by other programs or machines, before the first reading, and by erased projects. */
  readonly elsewhere: number;
  /** Largest first. `shared` is the part of `used` that overlapping requests caused together. */
  readonly sessions: readonly SessionShare[];
  readonly projects: readonly { readonly project: string; readonly used: number }[];
  /** Usage by access key; empty without keys. */
  readonly keys: readonly { readonly key: string; readonly used: number }[];
  /** Share saved by pruning; `null` if there are too few readings. */
  readonly saved: { readonly used: number; readonly low: number; readonly high: number } | null;
  /** Comparison of pruned and held-out conversations of the last two weeks; `null` if none were held out. */
  readonly holdout: HeldOut | null;
}

/** Mean usage per conversation; the difference is pruned minus held out. */
export type HeldOut = Difference & { readonly conversations: Readonly<Record<Arm, number>> };

export interface SessionShare {
  readonly session: string;
  readonly project: string;
  readonly used: number;
  readonly shared: number;
}

export interface ConversationShare {
  readonly provider: string;
  readonly window: string;
  /** Ratios. */
  readonly used: number;
  readonly shared: number;
}
