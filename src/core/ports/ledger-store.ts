import type { Arm, BoldnessStep, LedgerTurn, WorkCounts } from './ledger.ts';

/**
 * A sum for one day (UTC, `YYYY-MM-DD`), project and slice of its requests. `slice` says what `key` names: nothing
 * (`all`), a model, the id of an access key, a wire, a model with a tool (`use`, joined by a tab), a tool with its kind
 * (`tool`, joined by a tab), a cause of cache misses (`miss`), a boldness step with a kind and a tool (`step`), why new
 * texts passed whole (`whole`), or what providers report about changed history (`prefix`: `model` or `conversation` and
 * its name, joined by a tab). Those of wires and uses count every request, billed or not, and have no project.
 */
export interface LedgerSum {
  readonly day: string;
  readonly project: string;
  readonly slice: 'all' | 'wire' | 'use' | 'model' | 'key' | 'tool' | 'miss' | 'step' | 'whole' | 'prefix' | 'cold';
  readonly key: string;
  readonly field: string;
  readonly value: number;
}

/** Figures with the same day, project, slice and key, by field. */
export interface SumGroup extends Omit<LedgerSum, 'field' | 'value'> {
  readonly fields: Readonly<Record<string, number>>;
}

/** A conversation by the requests that are kept of it. */
export interface LedgerConversation extends WorkCounts {
  readonly conversationId: string;
  readonly project: string;
  readonly arm: Arm;
  readonly turns: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly dollars: number;
  readonly dollarsWithout: number;
  readonly output: number;
  readonly regretTokens: number;
  /** Tokens of its smallest request without cuts, usually the first one. */
  readonly firstRequestTokens: number;
  /** How often a client compacted it. */
  readonly compactions: number;
}

/** Where a text was cut. */
export interface CutPlace {
  readonly project: string;
  readonly conversationId: string;
  readonly newest: LedgerTurn | null;
}

/**
 * What the ledger carries from one request to the next: of a conversation, or of a model. Only the ledger reads `data`.
 */
export interface LedgerState {
  /** Identifies it; unique in the store. */
  readonly name: string;
  /** Common to conversations of which one may be a compaction of another; `''` for anything else. */
  readonly lineage: string;
  /** Time of the newest request in it, in epoch milliseconds. States without a request for 90 days are deleted. */
  readonly atMs: number;
  /** Changes with each write. */
  readonly version: number;
  readonly data: string;
}

/** A request that is not billed yet, because another process may still be handling the one before it. */
export interface WaitingRequest {
  readonly requestId: string;
  /** When it was stored, in epoch milliseconds of the machine's own clock. */
  readonly sinceMs: number;
  /** Names of the states that its bill is made from. */
  readonly names: readonly string[];
  readonly lineage: string;
  readonly data: string;
}

/** What the ledger needs from the store when it bills requests. */
export interface SettleQuery {
  /** States that are needed, and which version of each is in memory (0: none). */
  readonly states: ReadonlyMap<string, number>;
  /** Lineages whose newest state is needed. */
  readonly lineages: readonly string[];
  readonly requestIds: readonly string[];
  /**
   * This process's heartbeat state. Other processes are considered alive if their heartbeat (same lineage) is not older
   * than `aliveFromMs`.
   */
  readonly process: { readonly name: string; readonly lineage: string; readonly aliveFromMs: number };
}

/** The project that figures are added to once a day has reached its limit of rows. */
export type Others = '(others)';

/** What the store returns and keeps locked until `SettleWork` returns. */
export interface Settling {
  /** States whose version differs from the one in memory. */
  readonly states: readonly LedgerState[];
  /** States in memory that did not change. */
  readonly unchanged: ReadonlySet<string>;
  /** The newest states of the lineages. */
  readonly newest: readonly LedgerState[];
  /** Oldest first; at most 200. Their states are among `states`. */
  readonly waiting: readonly WaitingRequest[];
  /** The ids of `SettleQuery.requestIds` that are already billed or waiting. */
  readonly seen: ReadonlySet<string>;
  /** Whether other processes use the store as well. */
  readonly others: boolean;
}

/** The result of billing; written in one transaction. */
export interface Settled {
  readonly turns: readonly LedgerTurn[];
  readonly sums: readonly LedgerSum[];
  readonly states: readonly LedgerState[];
  /** Names of states that are deleted. */
  readonly removed: readonly string[];
  /** Requests that must wait from now on. `billed`: ids of requests that no longer wait. */
  readonly waits: readonly WaitingRequest[];
  readonly billed: readonly string[];
}

/** Bills requests. Called again if the transaction has to be repeated, so it must not have side effects. */
export type SettleWork = (settling: Settling) => Settled;

/** Dollars of a key or of a project on one day. */
export interface SpentDollars {
  readonly day: string;
  readonly of: 'key' | 'project';
  readonly name: string;
  readonly dollars: number;
}

/** The bill of some requests. */
export interface RequestsCost {
  /** Number of billed requests, and of billed requests without a price. */
  readonly requests: number;
  readonly unpriced: number;
  readonly dollars: number;
  readonly dollarsWithout: number;
}

/** The store of the ledger. Every method may reject with `StoreUnavailable`; none is called while a request waits. */
export interface LedgerStore {
  /** Bills requests in one transaction, one process at a time. Returns how many figures were folded, see `add`. */
  settle(query: SettleQuery, work: SettleWork): Promise<number>;
  /**
   * Adds turns and figures in one transaction. A day has room for 20,000 figures: beyond it, those of further projects
   * are added to the project `(others)`.
   *
   * @returns how many figures were added to `(others)`
   */
  add(turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<number>;
  /**
   * Figures per day since a day (inclusive), newest day first; at most 200,000. Without `slice`, those of all slices.
   */
  sums(query: {
    readonly sinceDay: string;
    readonly project?: string;
    readonly slice?: LedgerSum['slice'];
  }): Promise<readonly LedgerSum[]>;
  /** What requests cost together, as far as they are billed. */
  costOf(requestIds: readonly string[]): Promise<RequestsCost>;
  /** Dollars by day, key and project, of days from `sinceDay` on. */
  spent(query: { readonly sinceDay: string }): Promise<readonly SpentDollars[]>;
  /** Number of processes that bill requests in this store, by their heartbeats. */
  processes(query: Omit<SettleQuery['process'], 'name'>): Promise<number>;
  /**
   * The figures of `sums`, added up for a report: those of `all` by day with `project` `''`, newest first, and by
   * project with `day` `''`; of models, keys, tools and misses by `key` alone.
   */
  totals(query: { readonly sinceDay: string; readonly project?: string }): Promise<readonly LedgerSum[]>;
  /** Requests of a conversation in order, starting after `after` (a request id) if given, at most `limit`. */
  turns(query: {
    readonly conversationId: string;
    readonly after?: string;
    readonly newestFirst?: boolean;
    readonly limit: number;
  }): Promise<readonly LedgerTurn[]>;
  /** Conversations with a request since `sinceMs`, most recently active first, at most `limit`. */
  conversations(query: {
    readonly sinceMs: number;
    readonly project?: string;
    readonly limit: number;
  }): Promise<readonly LedgerConversation[]>;
  /**
   * Where a text was cut: its project, its conversation, and the newest stored request of that conversation, if any.
   * `null` if nothing is stored about it any more.
   */
  cutIn(pruneId: string): Promise<CutPlace | null>;
  /** The newest step of each (project, tool, kind). */
  steps(): Promise<readonly BoldnessStep[]>;
  /**
   * Adds a level after the newest one of its (project, tool, kind).
   *
   * @param after - number of that one, 0 if there is none
   * @returns the step with its number; `null` if another one was added since
   */
  addStep(step: Omit<BoldnessStep, 'number'>, after: number): Promise<BoldnessStep | null>;
}
