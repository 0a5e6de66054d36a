import type { CompactionShown, CompactionsReport, Payback } from 'mcp-pruner/core/ports/seams-report.ts';

/** Dollars of this calendar month (UTC), and the part of them that repeated finished work. */
export interface MonthShown {
  readonly finished: number;
  readonly dollars: number;
  readonly compactions: CompactionsReport;
  readonly payback: Payback;
}

/** The summaries of a conversation, oldest first. Dollars are estimated. */
export interface ConversationShown {
  readonly summaries: readonly (CompactionShown & {
    /** Tokens that requests no longer repeat; 0 if the summary was never sent. */
    readonly replaced: number;
    /** Dollars saved so far, without the price of the summary. */
    readonly saved: number;
    /** After how many requests it had paid back; `null` if it has not. */
    readonly after: number | null;
    /** Its conversation has ended. */
    readonly isOver: boolean;
  })[];
}
