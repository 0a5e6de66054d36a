import type { ProjectConversation } from './segments.ts';

/** Sort orders of conversations, all descending. */
export type ConversationOrder = 'seen' | 'requests' | 'dollars' | 'saved' | 'cut';

/** Filters for a list of conversations. Absent fields and empty lists do not filter. */
export interface ConversationQuery {
  /** Plain names of projects. */
  readonly projects?: readonly string[] | undefined;
  readonly client?: string | undefined;
  readonly model?: string | undefined;
  readonly wire?: string | undefined;
  /** Case-insensitive part of the project, task, client, model or first words, or a prefix of the name. */
  readonly words?: string | undefined;
  /** Conversations to list in addition to the matches of `words`, or alone if there are no `words`. */
  readonly named?: readonly string[] | undefined;
  readonly order: ConversationOrder;
  readonly offset: number;
  readonly limit: number;
}

/** Facts about a conversation, without its texts. */
export interface ListedConversation extends ProjectConversation {
  /** Product name of the user agent, or `''`. */
  readonly client: string;
  /** The user's first words; `''` if they are not stored. */
  readonly opening: string;
  /** Sum over the requests still in the ledger; `null` if there are none. */
  readonly bill: ConversationBill | null;
}

/** What the requests of a conversation cost, and what was cut from them. */
export interface ConversationBill {
  readonly requests: number;
  /** The model that answered most requests (ties by name), and the number of other models that answered. */
  readonly model: string;
  readonly otherModels: number;
  readonly wire: string;
  readonly firstMs: number;
  /** `null` if no request has a price. */
  readonly dollars: number | null;
  readonly dollarsWithout: number | null;
  readonly regretDollars: number;
  readonly regretTokens: number;
  /** Largest number of tokens newly cut in one request. */
  readonly biggestCut: number;
}

/** The bill of one request. */
export interface RequestCost {
  /** `null` if the model has no price. */
  readonly dollars: number | null;
  /** Tokens newly cut from the request, as counted by the provider. */
  readonly cut: number;
}

/** A compaction of a conversation by its client. */
export interface ListedCompaction {
  readonly project: string;
  /** The summarised conversation, and the one that continues from the summary; `''` until there is one. */
  readonly continues: string;
  readonly conversation: string;
  readonly client: string;
  readonly tokens: number;
  readonly atMs: number;
}

/** Values by which conversations can be filtered. */
export interface ConversationFacets {
  readonly projects: readonly string[];
  readonly clients: readonly string[];
  readonly models: readonly string[];
  readonly wires: readonly string[];
}

/** Query for ledger figures per day, broken down by one dimension. */
export interface SeriesQuery {
  /** UTC, `YYYY-MM-DD`, inclusive. */
  readonly sinceDay: string;
  /** Default: all. */
  readonly projects?: readonly string[] | undefined;
  readonly by: 'project' | 'model' | 'tool';
  /** Ledger fields to sum up. */
  readonly fields: readonly string[];
}

/** Sums of a model, a project, or a tool with its kind (joined by a tab), for a day. */
export interface SeriesPoint {
  readonly day: string;
  readonly key: string;
  readonly value: number;
}

/**
 * Data for the browsing views: conversations, costs, and figures by day. Every method may reject with
 * `StoreUnavailable`; no request waits for one.
 */
export interface BrowseStore {
  /** By day, oldest first; at most 50,000. */
  series(query: SeriesQuery): Promise<readonly SeriesPoint[]>;
  conversations(query: ConversationQuery): Promise<readonly ListedConversation[]>;
  /**
   * Filter values, at most 500 of each kind.
   *
   * @param projects - default: all
   */
  facets(projects?: readonly string[]): Promise<ConversationFacets>;
  /** Compactions that end or start one of the conversations, oldest first. */
  compactions(names: readonly string[], projects?: readonly string[]): Promise<readonly ListedCompaction[]>;
  /** Names of the conversations that contained texts, by prune id. */
  showing(pruneIds: readonly string[], projects?: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>;
  /** What the newest calls with these results asked for (path, pattern, command), by prune id. Unknown ones are absent. */
  asked(pruneIds: readonly string[], projects?: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Bills of requests by id. Requests without a bill, or whose bill has expired, are absent. */
  costs(requestIds: readonly string[], projects?: readonly string[]): Promise<ReadonlyMap<string, RequestCost>>;
}
