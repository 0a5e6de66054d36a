import type { Arm } from '../../core/ports/ledger.ts';
import type { Difference } from '../../core/ports/ledger-report.ts';

/** What subscriptions have left, and who used it. All figures are ratios of a window. */
export interface LimitsReport {
  readonly accounts: readonly AccountShown[];
}

export interface AccountShown {
  /** A hash of the provider's id of the account. */
  readonly account: string;
  readonly provider: string;
  readonly plan: string | null;
  readonly windows: readonly WindowShown[];
}

/** `used` is the sum of all sessions and of `elsewhere`. */
export interface WindowShown {
  readonly window: string;
  readonly minutes: number;
  readonly used: number;
  readonly status: string | null;
  /** ISO 8601. */
  readonly resetsAt: string;
  /** `usedUpAt`: at the rate of the last 24 hours; `null` if it lasts until the reset. */
  readonly pace: { readonly usedUpAt: string | null };
  /** Used by other programs or machines, before the first reading, and by erased projects. */
  readonly elsewhere: number;
  /** The largest first. `shared`: of `used`, what overlapping requests moved together. */
  readonly sessions: readonly SessionShare[];
  readonly projects: readonly { readonly project: string; readonly used: number }[];
  /** By access key; empty without keys. */
  readonly keys: readonly { readonly key: string; readonly used: number }[];
  /** What pruning saved of it; `null` if there are too few readings. */
  readonly saved: { readonly used: number; readonly low: number; readonly high: number } | null;
  /** Pruned conversations of the last two weeks and those that were held out; `null` if there were none. */
  readonly holdout: HeldOut | null;
}

/** What a conversation used on average; the difference is pruned minus held out. */
export type HeldOut = Difference & { readonly conversations: Readonly<Record<Arm, number>> };

export interface SessionShare {
  readonly session: string;
  readonly project: string;
  readonly used: number;
  readonly shared: number;
}

/** What one conversation used of a window. */
export interface ConversationShare {
  readonly provider: string;
  readonly window: string;
  /** Ratios. */
  readonly used: number;
  readonly shared: number;
}
