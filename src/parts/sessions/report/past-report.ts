import type { MissCause, TokenCounts } from '../../../core/ports/ledger.ts';
import type { LedgerTool } from '../../../core/ports/ledger-report.ts';

/** The cost of past requests, and their cost with cuts. Dollars include only models with a price. */
export interface PastTotals extends TokenCounts {
  readonly requests: number;
  /** Requests of models without a price: their tokens count, their dollars do not. */
  readonly unpriced: number;
  /** Requests whose tokens are a share of the figures for a whole session. */
  readonly estimated: number;
  /** The billed dollars. */
  readonly dollars: number;
  /** Equal to `dollars`, because nothing had been cut. */
  readonly dollarsWithout: number;
  /** The dollars that would have been billed with cuts. */
  readonly dollarsWith: number;
  /** `dollars - dollarsWith`. */
  readonly saved: number;
  /** Tokens that would not have been sent: in all requests, and in the request in which they were new. */
  readonly removed: number;
  readonly removedNew: number;
}

export type PastTool = Pick<LedgerTool, 'tool' | 'kind' | 'texts' | 'cut' | 'tokens' | 'removed'>;

/** The report about the sessions on a machine. */
export interface PastReport {
  readonly sinceDay: string;
  /** Limits of the figures, one sentence each. */
  readonly notes: readonly string[];
  readonly totals: PastTotals;
  /** Most dollars first. */
  readonly projects: readonly (PastTotals & { readonly project: string })[];
  readonly models: readonly (PastTotals & { readonly model: string })[];
  /** Most removed first. */
  readonly tools: readonly PastTool[];
  /** Caches that missed, most dollars first. `first_request` is a cache that had to be filled. */
  readonly misses: readonly {
    readonly cause: MissCause;
    readonly requests: number;
    readonly tokens: number;
    readonly dollars: number;
  }[];
  /**
   * Histories that began anew with less, and how many of them would have come about with cuts, by the sizes reached.
   */
  readonly compactions: { readonly count: number; readonly withCuts: number };
  /** Calls made again that brought the same result. */
  readonly rereads: { readonly count: number; readonly tokens: number; readonly dollars: number };
  /** Lines of results that the model used again, and how many of them would no longer have been visible. */
  readonly lines: { readonly used: number; readonly lost: number };
  /** Number of tools offered by name, and how many of them were never called. */
  readonly offered: { readonly count: number; readonly neverCalled: readonly string[] };
}

/** What sessions used of a limit of a subscription. All figures are sums over its windows, as ratios of one. */
export interface PastLimit {
  readonly window: string;
  readonly minutes: number;
  /** Number of windows, each of which began anew. */
  readonly resets: number;
  readonly used: number;
  /** Used before the first recorded answer of a window, or while none of the sessions ran. */
  readonly elsewhere: number;
  /** Most first. */
  readonly sessions: readonly { readonly session: string; readonly project: string; readonly used: number }[];
}

/** The whole answer of `report --sessions`. */
export interface SessionsReport {
  /** Session files that were read. */
  readonly files: number;
  /** Files that could not be read. */
  readonly skipped: number;
  /** Sessions with requests. */
  readonly sessions: number;
  /** The number of these sessions that already went through the proxy: their spending counts, cuts in them do not. */
  readonly throughProxy: number;
  /** Requests by agent. */
  readonly agents: Readonly<Record<string, number>>;
  /** Usage of a subscription, for agents that record it: Codex does. */
  readonly limits: readonly PastLimit[];
  readonly report: PastReport;
}

/** Adds figures up by name. */
export class Sums<T extends object> {
  readonly #zero: T;
  readonly #byName = new Map<string, T>();

  constructor(zero: T) {
    this.#zero = zero;
  }

  add(name: string, some: Partial<T>): void {
    const sum: T = this.#byName.get(name) ?? { ...this.#zero };
    for (const key of Object.keys(some) as (keyof T)[]) {
      Object.assign(sum, { [key]: Number(sum[key]) + Number(some[key]) });
    }
    this.#byName.set(name, sum);
  }

  entries(): [string, T][] {
    return [...this.#byName];
  }

  of(name: string): T {
    return this.#byName.get(name) ?? this.#zero;
  }
}

export const ZERO_TOTALS: PastTotals = {
  ...{ fresh: 0, write5m: 0, write1h: 0, read: 0, output: 0 },
  ...{ requests: 0, unpriced: 0, estimated: 0, dollars: 0, dollarsWithout: 0, dollarsWith: 0, saved: 0 },
  ...{ removed: 0, removedNew: 0 },
};
