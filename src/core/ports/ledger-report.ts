import type { ColdStashReport } from './cold-report.ts';
import type { KeyStore } from './keys.ts';
import type { Arm, MissCause, RegretKind, TokenCounts } from './ledger.ts';
import type { LedgerStore } from './ledger-store.ts';
import type { PrefixBreakReport } from './prefix-breaks.ts';
import type { SpendQuery, SpendRow } from './spend.ts';

/** A part of a total; `share` is `null` if the total is 0. */
export interface Share {
  readonly part: number;
  readonly whole: number;
  readonly share: number | null;
}

/** Spending and the effect of pruning, in dollars of the requests whose model has a price. */
export interface LedgerTotals extends TokenCounts {
  readonly requests: number;
  /** Requests of models without a price: their tokens count, their dollars do not. */
  readonly unpriced: number;
  /** Requests whose token counts are estimates. */
  readonly estimated: number;
  readonly dollars: number;
  readonly dollarsWithout: number;
  /** `dollarsWithout - dollars`, before subtracting what the cuts cost in other ways. */
  readonly gross: number;
  readonly regretDollars: number;
  /** `gross - regretDollars`. */
  readonly net: number;
  readonly removed: number;
  readonly removedNew: number;
  readonly regretTokens: number;
  readonly missTokens: number;
  readonly missDollars: number;
  /** 95 % confidence interval of `gross`, because removed tokens are estimates. */
  readonly savedRange: readonly [low: number, high: number];
  /** Shadow mode: tokens that would have been cut, and dollars that would have been saved. */
  readonly wouldRemove: number;
  readonly wouldSave: number;
}

export interface LedgerDay extends LedgerTotals {
  readonly day: string;
}

export interface LedgerModel extends LedgerTotals {
  readonly model: string;
  /** Ratio of reported to estimated tokens; `null` until there are enough samples. */
  readonly calibration: number | null;
}

/** Requests with one access key: tokens and dollars only, without regret and misses. */
interface LedgerKey extends LedgerTotals {
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
}

/** New results and files that were left whole for one reason, each counted once. */
export interface LeftWhole {
  /** A code accepted by `leftWholeWords`. */
  readonly reason: string;
  readonly texts: number;
}

export interface LedgerMiss {
  readonly cause: MissCause;
  readonly requests: number;
  readonly tokens: number;
  readonly dollars: number;
}

/**
 * Difference of the two arms' means, with its 95 % confidence interval. Dollars are means of conversations of the same
 * size, or of pruned conversations and their own bills without cuts.
 */
export interface Difference {
  readonly pruned: number;
  readonly control: number;
  /** Estimated effect of pruning, `pruned - control`; negative if pruning costs less. */
  readonly difference: number;
  /** `null` if either group is too small or too skewed. */
  readonly interval: readonly [number, number] | null;
  /** The sample is large enough, but a few conversations cost more than all others together. */
  readonly tooSkewed: boolean;
}

/** Explains why a difference has no interval. */
export function undecidedWords(tooSkewed: boolean): string {
  return tooSkewed ? 'too uneven to tell' : 'too few to tell';
}

/** Whether there is something to say about a difference. */
export function isTelling({ interval, tooSkewed }: Difference): boolean {
  return interval !== null || tooSkewed;
}

/** Pruned conversations compared with those of the control group. */
export interface HoldoutResult {
  readonly conversations: Readonly<Record<Arm, number>>;
  /** Whether both groups are large enough for a statement. */
  readonly enough: boolean;
  /**
   * How dollars are compared. `pairs`: each pruned conversation with its own cost without cuts, since the groups are
   * alike otherwise. `groups`: the groups with each other, within classes by size of the first request.
   */
  readonly method: 'pairs' | 'groups';
  readonly dollarsPerConversation: Difference;
  readonly dollarsPerTurn: Difference;
  readonly turns: Difference;
  /** Cost of both groups without cuts, in dollars; shows whether the groups are comparable. */
  readonly withoutCuts: Difference;
  readonly outputTokens: Difference;
  readonly regretTokens: Difference;
  readonly recoveries: Difference;
  readonly compactions: Difference;
  readonly plan: HoldoutPlan;
}

/** How much more data the dollar comparison needs to be conclusive. */
export interface HoldoutPlan {
  /** Conversations still missing: 0 if the result is conclusive, `null` if no number would suffice. */
  readonly more: number | null;
  /** Recommended share to hold out (`MCP_PRUNER_HOLDOUT`). */
  readonly share: number;
  /** Days until the result is conclusive at the current pace; `null` if unknown. */
  readonly days: number | null;
}

/** Everything that the report and the page show from the ledger. */
export interface LedgerReport {
  readonly sinceDay: string;
  readonly project: string | null;
  /** Gaps in the figures and problems with prices, one sentence each. */
  readonly notes: readonly string[];
  readonly totals: LedgerTotals;
  /** Newest first. */
  readonly days: readonly LedgerDay[];
  /** By dollars, descending. */
  readonly models: readonly LedgerModel[];
  readonly projects: readonly (LedgerTotals & { readonly project: string })[];
  /** By dollars, descending. */
  readonly keys: readonly LedgerKey[];
  /** By savings, descending. */
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
  /** By dollars, descending. */
  readonly misses: readonly LedgerMiss[];
  /** New results and files, each counted once. `all` is `cut` and the texts of `leftWhole`. */
  readonly results: { readonly all: number; readonly cut: number };
  /** Why new results were left whole, by number of texts, descending. */
  readonly leftWhole: readonly LeftWhole[];
  /** `null` if no conversation was held out. */
  readonly holdout: HoldoutResult | null;
}

/** Read access to the ledger for the CLI, the page and the tools. Methods may reject with `StoreUnavailable`. */
export interface LedgerReader {
  report(query: LedgerQuery): Promise<LedgerReport>;
  turns: LedgerStore['turns'];
  /** Results put aside at cold moments. */
  coldStash(query: LedgerQuery): Promise<ColdStashReport>;
  /** Changed histories reported by providers. */
  prefixBreaks(query: LedgerQuery): Promise<PrefixBreakReport>;
  /** @param keys - key store, if keys are in use; adds name, limits and last use of each key */
  spend(keys: Pick<KeyStore, 'all' | 'counted'> | null, query: SpendQuery): Promise<readonly SpendRow[]>;
}

/** Figures since a day (UTC), of one project if it is named. */
export interface LedgerQuery {
  readonly sinceDay: string;
  readonly project?: string | undefined;
}
