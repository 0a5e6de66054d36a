import type { MissCause, TokenCounts } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerTool } from 'mcp-pruner/core/ports/ledger-report.ts';
import type { ThresholdCost } from 'mcp-pruner/core/ports/seams-report.ts';

/** Cost of past requests, with and without cuts. Dollars include only models with a price. */
export interface PastTotals extends TokenCounts {
  readonly requests: number;
  /** Requests of models without a price: their tokens count, their dollars do not. */
  readonly unpriced: number;
  /** Requests whose tokens are a share of session-wide figures. */
  readonly estimated: number;
  readonly dollars: number;
  /** Equals `dollars`, because nothing was cut. */
  readonly dollarsWithout: number;
  /** Dollars that would have been billed with cuts. */
  readonly dollarsWith: number;
  /** `dollars - dollarsWith`. */
  readonly saved: number;
  /** Tokens that would not have been sent: over all requests, and counting only the requests in which they were new. */
  readonly removed: number;
  readonly removedNew: number;
}

export type PastTool = Pick<LedgerTool, 'tool' | 'kind' | 'texts' | 'cut' | 'tokens' | 'removed'>;

export interface PastReport {
  readonly sinceDay: string;
  /** Limitations of the figures, one sentence each. */
  readonly notes: readonly string[];
  readonly totals: PastTotals;
  /** By dollars, descending. */
  readonly projects: readonly (PastTotals & { readonly project: string })[];
  readonly models: readonly (PastTotals & { readonly model: string })[];
  /** By removed tokens, descending. */
  readonly tools: readonly PastTool[];
  /** Cache misses, by dollars, descending. `first_request` is a cache that had to be filled. */
  readonly misses: readonly {
    readonly cause: MissCause;
    readonly requests: number;
    readonly tokens: number;
    readonly dollars: number;
  }[];
  /** Number of compacted histories, and an estimate of that number with cuts. */
  readonly compactions: { readonly count: number; readonly withCuts: number };
  /** Repeated calls with the same result. */
  readonly rereads: { readonly count: number; readonly tokens: number; readonly dollars: number };
  /** Result lines that the model used again, and how many of them would no longer have been visible. */
  readonly lines: { readonly used: number; readonly lost: number };
  /** Number of tools offered by name, and how many were never called. */
  readonly offered: { readonly count: number; readonly neverCalled: readonly string[] };
}

/** Usage of a subscription limit by sessions. All figures are sums over its windows, as ratios of one window. */
export interface PastLimit {
  readonly window: string;
  readonly minutes: number;
  /** Number of windows, each after a reset. */
  readonly resets: number;
  readonly used: number;
  /** Used before the first recorded answer of a window, or while none of the sessions ran. */
  readonly elsewhere: number;
  /** Largest first. */
  readonly sessions: readonly { readonly session: string; readonly project: string; readonly used: number }[];
}

export interface SessionsReport {
  /** Session files that were read. */
  readonly files: number;
  /** Files that could not be read. */
  readonly skipped: number;
  /** Sessions with requests. */
  readonly sessions: number;
  /** Number of sessions that already went through the proxy; their spend counts, but cuts in them do not. */
  readonly throughProxy: number;
  /** Whether requests also ran through the pruner; otherwise, what cuts would have changed is `null` in JSON. */
  readonly measured: boolean;
  readonly agents: Readonly<Record<string, number>>;
  /** Subscription usage, for agents that record it (Codex). */
  readonly limits: readonly PastLimit[];
  readonly report: PastReport;
  /** `thresholds` are simulated from the usage of the sessions. */
  readonly simulated: true;
  readonly thresholds: readonly ThresholdCost[];
}

export class Sums<K extends string> {
  readonly #zero: Readonly<Record<K, number>>;
  readonly #byName = new Map<string, Record<K, number>>();

  constructor(zero: Readonly<Record<K, number>>) {
    this.#zero = zero;
  }

  add(name: string, some: Readonly<Partial<Record<K, number>>>): void {
    const sum: Record<K, number> = this.#byName.get(name) ?? { ...this.#zero };
    this.#byName.set(name, sum);
    for (const key in some) sum[key] += some[key] ?? 0;
  }

  entries(): [string, Readonly<Record<K, number>>][] {
    return [...this.#byName];
  }

  of(name: string): Readonly<Record<K, number>> {
    return this.#byName.get(name) ?? this.#zero;
  }
}

export const ZERO_TOTALS: PastTotals = {
  ...{ fresh: 0, write5m: 0, write1h: 0, read: 0, output: 0 },
  ...{ requests: 0, unpriced: 0, estimated: 0, dollars: 0, dollarsWithout: 0, dollarsWith: 0, saved: 0 },
  ...{ removed: 0, removedNew: 0 },
};
