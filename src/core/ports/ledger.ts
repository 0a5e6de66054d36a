/** Tokens of one request or of many, by the price that a provider asks for them. */
export interface TokenCounts {
  /** Input tokens that were neither read from a cache nor written to one. */
  readonly fresh: number;
  /** Input written to a cache that lives for five minutes, or as long as the provider lets it live. */
  readonly write5m: number;
  /** Input written to a cache that lives for an hour. */
  readonly write1h: number;
  /** Input read from a cache. */
  readonly read: number;
  readonly output: number;
}

/**
 * Why input that should have come from the cache did not. `put_aside`: old results were put aside or put back, by this
 * program or by the provider, because a user or a setting asked for it. `changed_by_us` is a fault of this program.
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

/** How it became apparent that a cut line was needed. */
export type RegretKind = 'recovered' | 'reread' | 'quoted';

/** Whether a conversation is pruned, or left whole to be compared with. */
export type Arm = 'pruned' | 'control';

/** Which request it is, and whose. */
export interface NamedRequest {
  readonly requestId: string;
  readonly atMs: number;
  readonly project: string;
  readonly conversationId: string;
  readonly wire: string;
  /** The provider that answered, such as `bedrock`; absent if unknown. */
  readonly cloud?: string | undefined;
  /** Id of the access key of the request; absent without keys. */
  readonly keyId?: string | undefined;
  /** Product name of the user agent; absent if unknown. */
  readonly client?: string | undefined;
  readonly model: string;
  readonly arm: Arm;
}

/** Counts that show how the work of a request or a conversation progresses. */
export interface WorkCounts {
  /** Number of messages with words of the user, and how many of them correct the model. */
  readonly userMessages: number;
  readonly corrections: number;
  /** Number of tool calls; how many repeat an earlier call; how many ask for lines that were cut. */
  readonly calls: number;
  readonly callsAgain: number;
  readonly recoveries: number;
  /** Number of edits of parts of files, and how many failed because the text to replace was not found. */
  readonly edits: number;
  readonly failedEdits: number;
  /** Test runs that failed, and passing ones whose predecessor failed. */
  readonly redTests: number;
  readonly turnedGreen: number;
}

/** What a bill says of a request. Dollars are `null` if no price is known. */
export interface BilledFigures {
  /** The provider did not say what was used: tokens are estimates. */
  readonly estimated: boolean;
  readonly dollars: number | null;
  /** What it would have cost unpruned. */
  readonly dollarsWithout: number | null;
  /** Tokens removed from its body, markers subtracted; and how many of these were removed for the first time. */
  readonly removed: number;
  readonly removedNew: number;
  /** `null`: the cache was hit as far as it could be, or could not be judged. */
  readonly miss: MissCause | null;
  /** Tokens that should have been read from the cache, and what they cost above that. */
  readonly missTokens: number;
  readonly missDollars: number | null;
  /** Index of the first message that differs from the previous request, if that caused the miss; otherwise -1. */
  readonly missAt: number;
}

/** One request as the ledger keeps it: figures and names, never a text. */
export interface LedgerTurn extends NamedRequest, TokenCounts, BilledFigures {
  /** Tokens that were sent again because they had been cut, with their price. */
  readonly regretTokens: number;
  readonly regretDollars: number | null;
  /** Absent if it was recorded before work was counted, or contains no new work. */
  readonly work?: WorkCounts | undefined;
}

/**
 * A step of boldness for texts of a (project, tool, kind): a numbered fact that is never changed, only followed by
 * another.
 */
export interface BoldnessStep {
  /** Ascending, without reuse. */
  readonly number: number;
  readonly project: string;
  readonly tool: string;
  readonly kind: string;
  /** -2 (mildest) to 2 (boldest); 0 is as configured. */
  readonly step: number;
  readonly atMs: number;
  /** The evidence for it: texts that were cut, and how many of them were regretted. */
  readonly texts: number;
  readonly regretted: number;
}
