import type { CompactionsReport, Payback } from 'mcp-pruner/core/ports/seams-report.ts';

/** Dollars of this calendar month (UTC), and the part of them that repeated finished work. */
export interface MonthShown {
  readonly finished: number;
  readonly dollars: number;
  readonly compactions: CompactionsReport;
  readonly payback: Payback;
}
