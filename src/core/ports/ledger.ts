/** Token counts of one or more requests, by price class. */
export interface TokenCounts {
  /** Input tokens neither read from a cache nor written to one. */
  readonly fresh: number;
  /** Input tokens written to a cache with a five-minute lifetime, or with the provider's default lifetime. */
  readonly write5m: number;
  /** Input tokens written to a cache with a one-hour lifetime. */
  readonly write1h: number;
  /** Input tokens read from a cache. */
  readonly read: number;
  readonly output: number;
}

/**
 * Why expected cache reads did not happen. `put_aside`: old results were put aside or put back, by this program or by
 * the provider, as requested by a user or a setting. `changed_by_us` is a fault of this program.
 */
export type MissCause =
  | 'first_request'
  | 'expired'
  | 'model_changed'
  | 'tools_changed'
  | 'system_changed'
  | 'message_changed'
  | 'compacted'
  | 'put_aside'
  | 'changed_by_us'
  | 'unknown';

/** How the need for a cut line became apparent. */
export type RegretKind = 'recovered' | 'reread' | 'quoted';

/** Whether a conversation is pruned, or left whole as part of the control group. */
export type Arm = 'pruned' | 'control';

/** Identity of a request. */
export interface NamedRequest {
  readonly requestId: string;
  readonly atMs: number;
  readonly project: string;
  readonly conversationId: string;
  readonly wire: string;
  /** The answering provider, such as `bedrock`; absent if unknown. */
  readonly cloud?: string | undefined;
  /** Id of the access key of the request; absent without keys. */
  readonly keyId?: string | undefined;
  /** Product name of the user agent; absent if unknown. */
  readonly client?: string | undefined;
  readonly model: string;
  readonly arm: Arm;
}

/** What a request adds to a conversation. */
export interface WorkCounts {
  /** Number of messages with user text. */
  readonly userMessages: number;
  /** Number of tool calls, and how many of them request lines that were cut. */
  readonly calls: number;
  readonly recoveries: number;
}

/** Billed figures of a request. Dollars are `null` if no price is known. */
export interface BilledFigures {
  /** Whether token counts are estimates, because the provider reported no usage. */
  readonly estimated: boolean;
  /** The provider reported a count above that of any model, which was ignored. Absent if not. */
  readonly odd?: true | undefined;
  readonly dollars: number | null;
  /** Cost without pruning. */
  readonly dollarsWithout: number | null;
  /** Tokens removed from the body, markers subtracted; and how many of them were removed for the first time. */
  readonly removed: number;
  readonly removedNew: number;
  /** `null` means a full cache hit, or one that could not be judged. */
  readonly miss: MissCause | null;
  /** Tokens that should have been read from the cache, and their additional cost. */
  readonly missTokens: number;
  readonly missDollars: number | null;
  /** Index of the first message that differs from the previous request, if that caused the miss; otherwise -1.  */
  readonly missAt: number;
}

/** One request as stored in the ledger: figures and names, never a text. */
export interface LedgerTurn extends NamedRequest, TokenCounts, BilledFigures {
  /** Tokens sent again because they had been cut, with their cost. */
  readonly regretTokens: number;
  readonly regretDollars: number | null;
  /** Absent if the row predates work counts, or the request contains no new work. */
  readonly work?: WorkCounts | undefined;
}
