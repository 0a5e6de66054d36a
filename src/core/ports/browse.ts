import type { ProjectConversation } from './segments.ts';

/** What conversations are sorted by; most or newest first. */
export type ConversationOrder = 'seen' | 'requests' | 'dollars' | 'saved' | 'cut';

/** Which conversations are listed. Absent fields and empty lists restrict nothing. */
export interface ConversationQuery {
  /** Plain names of projects. */
  readonly projects?: readonly string[] | undefined;
  readonly client?: string | undefined;
  readonly model?: string | undefined;
  readonly wire?: string | undefined;
  /** Occurs in the project, task, client, model or first words, or begins the name; case is ignored. */
  readonly words?: string | undefined;
  /** Names of further conversations to list: in addition to those with the words or, without words, alone. */
  readonly named?: readonly string[] | undefined;
  readonly order: ConversationOrder;
  readonly offset: number;
  readonly limit: number;
}

/** What is known of a conversation apart from its texts. */
export interface ListedConversation extends ProjectConversation {
  /** Product name of the user agent, or `''`. */
  readonly client: string;
  /** First words of the user; `''` if they are not stored. */
  readonly opening: string;
  /** Sum over the requests that the ledger still has; `null` if it has none. */
  readonly bill: ConversationBill | null;
}

/** What the requests of a conversation cost, and what was cut from them. */
export interface ConversationBill {
  readonly requests: number;
  /** The model that answered most requests (ties by name), and how many other models answered. */
  readonly model: string;
  readonly otherModels: number;
  readonly wire: string;
  readonly firstMs: number;
  /** `null`: no request has a price. */
  readonly dollars: number | null;
  readonly dollarsWithout: number | null;
  readonly regretDollars: number;
  readonly regretTokens: number;
  /** Maximum number of tokens that were newly cut in one request. */
  readonly biggestCut: number;
}

/** The bill of one request. */
export interface RequestCost {
  /** `null`: its model has no price. */
  readonly dollars: number | null;
  /** Tokens that were newly cut from it, in the provider's count. */
  readonly cut: number;
}

/** A compaction of a conversation by its client. */
export interface ListedCompaction {
  readonly project: string;
  /** The conversation that was summarised, and the one that continues from the summary; `''` while there is none. */
  readonly continues: string;
  readonly conversation: string;
  readonly client: string;
  readonly tokens: number;
  readonly atMs: number;
}

/** Values that conversations can be filtered by. */
export interface ConversationFacets {
  readonly projects: readonly string[];
  readonly clients: readonly string[];
  readonly models: readonly string[];
  readonly wires: readonly string[];
}

/** Figures of the ledger by day and by one of its parts. */
export interface SeriesQuery {
  /** UTC, `YYYY-MM-DD`, inclusive. */
  readonly sinceDay: string;
  /** Absent: all. */
  readonly projects?: readonly string[] | undefined;
  readonly by: 'project' | 'model' | 'tool';
  /** Fields of the ledger that are added up. */
  readonly fields: readonly string[];
}

/** Sums of a model, a project, or a tool with its kind (joined by a tab), for a day. */
export interface SeriesPoint {
  readonly day: string;
  readonly key: string;
  readonly value: number;
}

/**
 * What a person browses: conversations, costs, and figures by day. Every method may reject with `StoreUnavailable`; no
 * request waits for one.
 */
export interface BrowseStore {
  /** By day, oldest first; at most 50,000. */
  series(query: SeriesQuery): Promise<readonly SeriesPoint[]>;
  conversations(query: ConversationQuery): Promise<readonly ListedConversation[]>;
  /**
   * At most 500 of each.
   *
   * @param projects - absent: all
   */
  facets(projects?: readonly string[]): Promise<ConversationFacets>;
  /** Compactions that end or begin one of the conversations, oldest first. */
  compactions(names: readonly string[], projects?: readonly string[]): Promise<readonly ListedCompaction[]>;
  /** Names of the conversations that contained texts, by prune id. */
  showing(pruneIds: readonly string[], projects?: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>;
  /** The bills of requests by id. Absent: not billed yet, or no longer kept. */
  costs(requestIds: readonly string[], projects?: readonly string[]): Promise<ReadonlyMap<string, RequestCost>>;
}
