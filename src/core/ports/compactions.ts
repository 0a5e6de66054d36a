/** A client replaced the history of a conversation by a summary. */
export interface Compaction {
  readonly project: string;
  /** The conversation that was summarised. */
  readonly continues: string;
  /** By its prompt: `claude-code`, `codex`, `opencode`, `gemini-cli`, `cline` or `pi`. */
  readonly client: string;
  /** Product name of the user agent; `''` if unknown. */
  readonly product: string;
  readonly model: string;
  /** The client's own id of its session, or `''`. */
  readonly session: string;
  /**
   * Length of the request that asked for the summary, estimated; the store prefers the length of the conversation's
   * last billed request, if there is one.
   */
  readonly tokens: number;
  readonly atMs: number;
}

/** A compaction, and the conversation that continues from it; `''` while there is none. */
export interface StoredCompaction extends Compaction {
  readonly conversation: string;
}

/** Maximum length of a conversation in tokens: as it was sent, and with everything that was cut. */
export interface ContextPeak {
  readonly project: string;
  readonly conversationId: string;
  readonly model: string;
  /** Product name and version of the user agent, or `''`. */
  readonly product: string;
  readonly sent: number;
  readonly whole: number;
}

/** Cost of requests after a pause that found no cache, in dollars. */
export interface ColdFigures {
  readonly requests: number;
  readonly usd: number;
  /**
   * Effect of a cache lifetime of an hour: the extra cost of its writes, and what it would have saved after pauses of 5
   * to 60 minutes.
   */
  readonly hour_cache: { readonly cost: number; readonly saved: number };
}

/** The store of compactions. Every method may reject with `StoreUnavailable`; none is called while a request waits. */
export interface CompactionStore {
  /**
   * Adds a compaction.
   *
   * @returns `false` for a retry: the same conversation was compacted a moment ago, and no conversation continues it
   * yet
   */
  add(compaction: Compaction): Promise<boolean>;
  /**
   * Links a conversation to the newest compaction that it can continue: of its session or, without a session, of its
   * project within the last hour.
   *
   * @returns the conversation that it continues, or `null`
   */
  follow(by: {
    readonly project: string;
    readonly session: string;
    readonly conversation: string;
    readonly atMs: number;
  }): Promise<string | null>;
  /** Compactions since then, oldest first, at most 10,000. */
  since(query: { readonly sinceMs: number; readonly project?: string }): Promise<readonly StoredCompaction[]>;
  /**
   * Conversations with a billed request since then, the longest first, at most `limit`.
   *
   * @param query.above - only conversations that were longer than this with everything that was cut, and compacted ones
   */
  peaks(query: {
    readonly above?: number;
    readonly sinceMs: number;
    readonly project?: string;
    readonly limit: number;
  }): Promise<readonly ContextPeak[]>;
  cold(query: { readonly sinceMs: number; readonly project?: string }): Promise<ColdFigures>;
}
