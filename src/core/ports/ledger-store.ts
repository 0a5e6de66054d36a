import type { Arm, LedgerTurn, WorkCounts } from './ledger.ts';
import type { HeadSums } from './segments.ts';

/**
 * A sum for one day (UTC, `YYYY-MM-DD`), project and slice. `slice` says what `key` refers to: nothing (`all`), a
 * model, the id of an access key, a wire, a model with a tool (`use`, joined by a tab), a tool with its kind (`tool`,
 * joined by a tab), a cause of cache misses (`miss`), why new texts
 * passed whole (`whole`), a model that summarised finished work (`compaction`), a conversation with requests that were not
 * answered (`failed`), or changed history reported by providers (`prefix`: `model` or `conversation` and its name, joined
 * by a tab). Sums for wires and uses count every request, billed or not, and have no project.
 */
export interface LedgerSum {
  readonly day: string;
  readonly project: string;
  readonly slice:
    | 'all'
    | 'wire'
    | 'use'
    | 'model'
    | 'key'
    | 'tool'
    | 'miss'
    | 'step'
    | 'whole'
    | 'prefix'
    | 'failed'
    | 'cold'
    | 'repeat'
    | 'compaction';
  readonly key: string;
  readonly field: string;
  readonly value: number;
}

/** Figures with the same day, project, slice and key, by field. */
export interface SumGroup extends Omit<LedgerSum, 'field' | 'value'> {
  readonly fields: Readonly<Record<string, number>>;
}

/** A conversation, summed up over its stored requests. */
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
  /** Tokens of the smallest request without cuts, usually the first one. */
  readonly firstRequestTokens: number;
  /** Number of compactions by a client. */
  readonly compactions: number;
}

/** Where a text was cut. */
export interface CutPlace {
  readonly project: string;
  readonly conversationId: string;
  readonly newest: LedgerTurn | null;
}

/**
 * State that the ledger carries over between requests of a conversation, or of a model. `data` is opaque to the store.
 */
export interface LedgerState {
  /** Unique key in the store. */
  readonly name: string;
  /** Shared by conversations that may be compactions of each other; `''` for all other states. */
  readonly lineage: string;
  /**
   * Time of the newest request in this state, in epoch milliseconds. States without a request for 90 days are deleted.
   */
  readonly atMs: number;
  /** Changes with each write. */
  readonly version: number;
  readonly data: string;
}

/** A request that is not billed yet, because another process may still be handling the preceding one. */
export interface WaitingRequest {
  readonly requestId: string;
  /** When the request was stored, in epoch milliseconds of the machine's own clock. */
  readonly sinceMs: number;
  /** Names of the states needed for its bill. */
  readonly names: readonly string[];
  readonly lineage: string;
  readonly data: string;
}

/** Data that the ledger needs from the store to bill requests. */
export interface SettleQuery {
  /** Required states, with the version that is in memory (0: none). */
  readonly states: ReadonlyMap<string, number>;
  /** Lineages whose newest state is required. */
  readonly lineages: readonly string[];
  readonly requestIds: readonly string[];
  /**
   * This process's heartbeat state. Other processes count as alive if their heartbeat (same lineage) is not older than
   * `aliveFromMs`.
   */
  readonly process: { readonly name: string; readonly lineage: string; readonly aliveFromMs: number };
}

/** Project that collects further figures once a day has reached its row limit. */
export type Others = '(others)';

/** Data returned by the store, which stays locked until `SettleWork` returns. */
export interface Settling {
  /** States whose version differs from the one in memory. */
  readonly states: readonly LedgerState[];
  /** States in memory that did not change. */
  readonly unchanged: ReadonlySet<string>;
  /** Latest state of each lineage. */
  readonly newest: readonly LedgerState[];
  /** Oldest first, at most 200; their states are included in `states`. */
  readonly waiting: readonly WaitingRequest[];
  /** The ids in `SettleQuery.requestIds` that are already billed or waiting. */
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
  /** Requests to add to the waiting ones. `billed`: ids of requests to remove from them. */
  readonly waits: readonly WaitingRequest[];
  readonly billed: readonly string[];
}

/** Bills requests. May run several times if the transaction is retried, so it must not have side effects. */
export type SettleWork = (settling: Settling) => Settled;

/** Dollars spent by a key or a project on one day. */
export interface SpentDollars {
  readonly day: string;
  readonly of: 'key' | 'project';
  readonly name: string;
  readonly dollars: number;
}

/** When a conversation was last sent with a request head, which a provider caches separately. */
export interface SentHead extends HeadSums {
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** Time after which the provider drops its cache, in milliseconds; `null` if not known. */
  readonly lifetimeMs: number | null;
  /** Random id of the process that sent it. */
  readonly process: string;
}

/** Total bill of some requests. */
export interface RequestsCost {
  /** Number of billed requests, and how many of them have no price. */
  readonly requests: number;
  readonly unpriced: number;
  readonly dollars: number;
  /** The same without cuts, less what their regrets cost. */
  readonly dollarsWithout: number;
}

/** The store of the ledger. Every method may reject with `StoreUnavailable`; none is called on the request path. */
export interface LedgerStore {
  /** Bills requests in one transaction, one process at a time. Returns the number of folded figures, see `add`. */
  settle(query: SettleQuery, work: SettleWork): Promise<number>;
  /**
   * Adds turns and figures in one transaction. Each day has room for 20,000 figures; beyond that, figures of further
   * projects go to the project `(others)`.
   *
   * @returns the number of figures added to `(others)`
   */
  add(turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<number>;
  /** Figures per day since a day (inclusive), newest day first; at most 200,000. Without `slice`, of all slices. */
  sums(query: {
    readonly sinceDay: string;
    readonly project?: string;
    readonly slice?: LedgerSum['slice'];
  }): Promise<readonly LedgerSum[]>;
  /** Total cost of requests, as far as they are billed. */
  costOf(requestIds: readonly string[]): Promise<RequestsCost>;
  /** Dollars by day, key and project since `sinceDay`. */
  spent(query: { readonly sinceDay: string }): Promise<readonly SpentDollars[]>;
  /** Number of live processes that bill requests in this store, by heartbeat. */
  processes(query: Omit<SettleQuery['process'], 'name'>): Promise<number>;
  /**
   * The figures of `sums`, aggregated for a report. `all` is grouped by day (with `project` `''`, newest first) and by
   * project (with `day` `''`); models, keys, tools and misses only by `key`.
   */
  totals(query: { readonly sinceDay: string; readonly project?: string }): Promise<readonly LedgerSum[]>;
  /**
   * Requests of a conversation in order, starting after `after` (a request id) if given, at most `limit`. Conversations
   * of two projects with the same first words share an id; with `project`, only its requests are returned.
   */
  turns(query: {
    readonly conversationId: string;
    readonly project?: string;
    readonly after?: string;
    readonly newestFirst?: boolean;
    readonly limit: number;
  }): Promise<readonly LedgerTurn[]>;
  /** Records that a conversation is being sent. A turn is added later, and never if its process is killed before. */
  noteSent(project: string, conversationId: string, sent: SentHead): Promise<void>;
  /** When a conversation was last sent, by head, newest first; at most 6. */
  lastSent(project: string, conversationId: string): Promise<readonly SentHead[]>;
  /** Conversations with a request since `sinceMs`, most recently active first, at most `limit`. */
  conversations(query: {
    readonly sinceMs: number;
    readonly project?: string;
    readonly limit: number;
  }): Promise<readonly LedgerConversation[]>;
  /**
   * Where a text was cut: project, conversation, and the newest stored request of that conversation, if any. `null` if
   * the store has no record of it.
   */
  cutIn(pruneId: string): Promise<CutPlace | null>;
  /** Adds the cost of recovered lines to the newest stored request of the conversation in which they were cut, if any. */
  addRegret(
    of: { readonly project: string; readonly conversationId: string },
    regret: { readonly tokens: number; readonly dollars: number },
  ): Promise<void>;
}
