import type { Arm, BoldnessStep, MissCause, RegretKind, TokenCounts } from './ledger.ts';
import type { LedgerStore } from './ledger-store.ts';

/** A part and its total; `share` is `null` if the total is 0. */
export interface Share {
  readonly part: number;
  readonly whole: number;
  readonly share: number | null;
}

/** What was spent and what pruning changed, in dollars of the requests whose model has a price. */
export interface LedgerTotals extends TokenCounts {
  readonly requests: number;
  /** Requests of models without a price: their tokens count, their dollars do not. */
  readonly unpriced: number;
  /** Requests whose tokens are estimates. */
  readonly estimated: number;
  readonly dollars: number;
  readonly dollarsWithout: number;
  /** `dollarsWithout - dollars`: what the cuts cost in other ways is not yet subtracted. */
  readonly gross: number;
  readonly regretDollars: number;
  /** `gross - regretDollars`. */
  readonly net: number;
  readonly removed: number;
  readonly removedNew: number;
  readonly regretTokens: number;
  readonly missTokens: number;
  readonly missDollars: number;
  /**
   * Contains `gross` in 95 of 100 cases while removed tokens are estimates; `null` once the provider has counted some
   * of them.
   */
  readonly savedRange: readonly [low: number, high: number] | null;
  /** In shadow mode: tokens that would have been cut, and dollars that would have been saved. */
  readonly wouldRemove: number;
  readonly wouldSave: number;
}

export interface LedgerDay extends LedgerTotals {
  readonly day: string;
}

export interface LedgerModel extends LedgerTotals {
  readonly model: string;
  /** Tokens reported for each token estimated; `null` until enough was seen. */
  readonly calibration: number | null;
}

/** Requests with one access key: tokens and dollars only, neither regret nor misses. */
export interface LedgerKey extends LedgerTotals {
  readonly keyId: string;
}

/** Texts of one tool and kind. */
export interface LedgerTool {
  readonly tool: string;
  readonly kind: string;
  readonly texts: number;
  readonly cut: number;
  readonly tokens: number;
  readonly removed: number;
  readonly dollarsSaved: number;
  readonly regretTokens: number;
  readonly regretDollars: number;
  /** Number of regrets by kind. */
  readonly regrets: Readonly<Record<RegretKind, number>>;
  /** The level of boldness now; 0 if none was learned. */
  readonly step: number;
}

/** New results that were left whole for one reason. */
export interface LeftWhole {
  /** As `leftWholeWords` takes it. */
  readonly reason: string;
  readonly texts: number;
  /** Requests of which nothing was examined for this reason. */
  readonly requests: number;
}

export interface LedgerMiss {
  readonly cause: MissCause;
  readonly requests: number;
  readonly tokens: number;
  readonly dollars: number;
}

/**
 * A mean of one arm minus that of the other, with the interval that contains the true difference in 95 of 100
 * experiments.
 */
export interface Difference {
  readonly pruned: number;
  readonly control: number;
  /**
   * Estimated effect of pruning, negative if pruning costs less. Not always `pruned - control`: conversations may be
   * compared within classes of size, or with their own bill without cuts.
   */
  readonly difference: number;
  /** `null`: too few of either group, or too skewed, to decide. */
  readonly interval: readonly [number, number] | null;
  /** There are enough conversations, but a few of them cost more than all the others together. */
  readonly tooSkewed: boolean;
}

/** Why a difference has no interval. */
export function undecidedWords(tooSkewed: boolean): string {
  return tooSkewed ? 'too uneven to tell' : 'too few to tell';
}

/** Pruned conversations compared with those of the control group. */
export interface HoldoutResult {
  readonly conversations: Readonly<Record<Arm, number>>;
  /** Whether there are enough of both to say anything. */
  readonly enough: boolean;
  /**
   * How dollars are compared. `pairs`: each pruned conversation with what it would have cost without cuts, since both
   * groups are alike otherwise. `groups`: the groups with each other, by classes of the size of the first request.
   */
  readonly method: 'pairs' | 'groups';
  readonly dollarsPerConversation: Difference;
  readonly dollarsPerTurn: Difference;
  readonly turns: Difference;
  /** What conversations of both groups would have cost without cuts, in dollars: whether they are alike. */
  readonly withoutCuts: Difference;
  readonly outputTokens: Difference;
  readonly regretTokens: Difference;
  readonly plan: HoldoutPlan;
}

/** How much more data the dollar comparison needs to be conclusive. */
export interface HoldoutPlan {
  /** Conversations that are still missing: 0 if it is conclusive, `null` if no number would suffice. */
  readonly more: number | null;
  /** Share to hold out (`MCP_PRUNER_HOLDOUT`). */
  readonly share: number;
  /** Days until then at the pace so far; `null` if unknown. */
  readonly days: number | null;
}

/** The measures of the work; `turns`: requests per user message. */
export type WorkName =
  | 'failedEdits'
  | 'callsAgain'
  | 'recoveries'
  | 'turns'
  | 'turnedGreen'
  | 'corrections'
  | 'compactions';

/** How often something happened in the conversations of an arm, out of the number of opportunities. */
export interface WorkRate {
  readonly part: number;
  readonly whole: number;
  readonly rate: number | null;
  /** Contains the rate in 95 of 100 cases; `null`: too few cases. */
  readonly interval: readonly [low: number, high: number] | null;
}

/** A measure of the work's progress, in pruned conversations and in those of the control group. */
export interface WorkMeasure {
  readonly name: WorkName;
  /** Heading of its row. */
  readonly words: string;
  /** The rate is a share of the opportunities; otherwise a mean number per message or conversation. */
  readonly isShare: boolean;
  readonly pruned: WorkRate;
  readonly control: WorkRate;
  /** Pruned conversations compared with the others; `null`: too few cases. */
  readonly difference: { readonly middle: number; readonly interval: readonly [number, number] | null } | null;
}

/** Removed tokens as counted by the provider (for a sample of requests), and as estimated. */
export interface CheckedShare {
  readonly requests: number;
  /** Requests for which the provider returned no token count. */
  readonly failed: number;
  /** The same by reason (a code of `CountAnswer.failure`), the most frequent first. */
  readonly failures: readonly { readonly reason: string; readonly requests: number }[];
  /** Removed tokens of all requests that the provider counted. */
  readonly exact: number;
  /** The same as the engine estimates it, uncalibrated. */
  readonly estimated: number;
}

/** All that the report and the page show of the ledger. */
export interface LedgerReport {
  readonly sinceDay: string;
  readonly project: string | null;
  /** What is missing from the figures or wrong with their prices, a sentence each. */
  readonly notes: readonly string[];
  readonly totals: LedgerTotals;
  /** Newest first. */
  readonly days: readonly LedgerDay[];
  /** Most dollars first. */
  readonly models: readonly LedgerModel[];
  readonly projects: readonly (LedgerTotals & { readonly project: string })[];
  /** Most dollars first. */
  readonly keys: readonly LedgerKey[];
  /** Most saved first. */
  readonly tools: readonly LedgerTool[];
  /** Savings relative to four different totals, because any single one is misleading. */
  readonly shares: {
    /** Relative to the tokens of the examined texts, each counted once. */
    readonly ofTexts: Share;
    /** Relative to new input (fresh and written to a cache) plus what was removed for the first time. */
    readonly ofNewInput: Share;
    /** Relative to all input, read from a cache or not, plus what was removed. */
    readonly ofAllInput: Share;
    /** In dollars: net saving relative to what the requests would have cost. */
    readonly ofBill: Share;
  };
  /** Most dollars first. */
  readonly misses: readonly LedgerMiss[];
  /** Why new results were left whole; most texts first. */
  readonly leftWhole: readonly LeftWhole[];
  /** `null` while no conversation was held out. */
  readonly holdout: HoldoutResult | null;
  /** Measures of the work's progress; those without any observation are left out. */
  readonly work: readonly WorkMeasure[];
  /** `null` while the provider has counted nothing. */
  readonly checked: CheckedShare | null;
  /** Levels of boldness that apply now, newest first. */
  readonly steps: readonly BoldnessStep[];
}

/** What faces read from the ledger. Methods may reject with `StoreUnavailable`. */
export interface LedgerReader {
  report(query: { readonly sinceDay: string; readonly project?: string }): Promise<LedgerReport>;
  turns: LedgerStore['turns'];
}
