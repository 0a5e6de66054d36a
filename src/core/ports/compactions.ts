/** A client replaced the history of a conversation by a summary. */
export interface Compaction {
  readonly project: string;
  /** The summarised conversation. */
  readonly continues: string;
  /** Client identified by its summary prompt: `claude-code`, `codex`, `opencode`, `gemini-cli`, `cline` or `pi`. */
  readonly client: string;
  /** Product name of the user agent; `''` if unknown. */
  readonly product: string;
  readonly model: string;
  /** The client's session id, or `''`. */
  readonly session: string;
  /**
   * Estimated length of the request for the summary. The store prefers the length of the conversation's last billed
   * request, if any.
   */
  readonly tokens: number;
  readonly atMs: number;
}

/** A compaction with the conversation that continues from it; `''` until there is one. */
export interface StoredCompaction extends Compaction {
  readonly conversation: string;
}

/** Peak length of a conversation in tokens: as sent, and including everything that was cut. */
export interface ContextPeak {
  readonly project: string;
  readonly conversationId: string;
  readonly model: string;
  /** Product name and version of the user agent, or `''`. */
  readonly product: string;
  readonly sent: number;
  readonly whole: number;
}

/** Cost of requests that missed the cache after a pause, in dollars. */
export interface ColdFigures {
  readonly requests: number;
  readonly usd: number;
  /**
   * Effect of a one-hour cache lifetime: the extra cost of its writes, and the savings after pauses of 5 to 60 minutes.
   */
  readonly hour_cache: { readonly cost: number; readonly saved: number };
}

/** The store of compactions. Every method may reject with `StoreUnavailable`; none is called on the request path. */
export interface CompactionStore {
  /**
   * Adds a compaction.
   *
   * @returns `false` for a retry: the same conversation was compacted a moment ago, and no conversation continues it
   * yet
   */
  add(compaction: Compaction): Promise<boolean>;
  /**
   * Links a conversation to the newest compaction that it can continue: from the same session or, without a session,
   * from the same project within the last hour.
   *
   * @returns the continued conversation, or `null`
   */
  follow(by: {
    readonly project: string;
    readonly session: string;
    readonly conversation: string;
    readonly atMs: number;
  }): Promise<string | null>;
  /** Compactions since `sinceMs`, oldest first, at most 10,000. */
  since(query: { readonly sinceMs: number; readonly project?: string }): Promise<readonly StoredCompaction[]>;
  /**
   * Conversations with a billed request since `sinceMs`, longest first, at most `limit`.
   *
   * @param query.above - only conversations whose unpruned length exceeded this, and compacted ones
   */
  peaks(query: {
    readonly above?: number;
    readonly sinceMs: number;
    readonly project?: string;
    readonly limit: number;
  }): Promise<readonly ContextPeak[]>;
  cold(query: { readonly sinceMs: number; readonly project?: string }): Promise<ColdFigures>;
}
