/** Stored records that can be listed or looked up, except for single events. */

/** A run that has events in the store. */
export interface RunSummary {
  readonly runId: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Time of its last event, in epoch milliseconds. */
  readonly lastMs: number;
}

/** An unexpired prune. */
export interface PruneSummary {
  readonly pruneId: string;
  readonly tool: string;
  readonly sourceType: string;
  readonly lines: number;
  readonly keptLines: number;
  readonly createdMs: number;
  readonly expiresMs: number;
}

/** A prune with its position in creation order. */
export interface ListedPrune extends PruneSummary {
  /** Ascending. */
  readonly row: number;
}

/** Creation time of the oldest prune, and expiry times, in epoch milliseconds; `null` without prunes. */
export interface StoreAges {
  readonly oldestMs: number | null;
  readonly newestMs: number | null;
  /** When the next prune and the last prune expire, if none of them is used before. */
  readonly nextExpiryMs: number | null;
  readonly lastExpiryMs: number | null;
}

/** An agent whose output was recorded. */
export interface ChildSummary {
  readonly childId: string;
  readonly lastSeq: number;
  readonly lastMs: number;
}

/** One line of an agent's output, or (`meta`) a start, an end or a restart. */
export interface ChildLogRecord {
  readonly tsMs: number;
  readonly childId: string;
  readonly runId: string | null;
  readonly stream: 'stdout' | 'stderr' | 'meta';
  readonly message: string;
  readonly opId?: string | null;
  readonly jobId?: string | null;
  readonly graphId?: string | null;
  readonly nodeId?: string | null;
  /** Fields of `message`; `null` if it is not a JSON object. */
  readonly parsed: unknown;
}

export interface StoredChildLog extends ChildLogRecord {
  /** Ascending, never reused. */
  readonly seq: number;
}

/** The reply to a call that carried an idempotency key. */
export interface Reply {
  /** Hash of the arguments. */
  readonly argsHash: string;
  /** The reply's text; `null` while the call runs, or if its process died. */
  readonly text: string | null;
}

/**
 * Lists of runs, prunes and agents, agent logs, and stored replies. Every method may reject with `StoreUnavailable`.
 */
export interface Records {
  /** Runs by id prefix, most recently active first. */
  runs(query: { readonly prefix: string; readonly limit: number }): Promise<readonly RunSummary[]>;
  /** Sequence number of a run's last event, or 0 if the store has none. */
  lastSeqOfRun(runId: string): Promise<number>;
  /** Sequence number of the newest event, or 0. */
  lastSeq(): Promise<number>;
  /** Unexpired prunes, most recently used first. */
  prunes(query: { readonly prefix: string; readonly limit: number }): Promise<readonly PruneSummary[]>;
  /** Unexpired prunes, newest first, starting after the one at `before` if given, at most `limit`. */
  prunesByAge(page: { readonly before?: number; readonly limit: number }): Promise<readonly ListedPrune[]>;
  ages(): Promise<StoreAges>;
  /** Whether a prune is available, expired, or unknown. */
  pruneState(pruneId: string): Promise<'alive' | 'expired' | 'unknown'>;
  /** Agents, most recently active first. */
  children(query: { readonly prefix: string; readonly limit: number }): Promise<readonly ChildSummary[]>;
  /** Sequence number of an agent's last entry, or 0 if the store has none. */
  lastSeqOfChild(childId: string): Promise<number>;
  /** Entries with `seq >= fromSeq`, ascending, at most `limit`. */
  childLogs(query: {
    readonly childId: string;
    readonly fromSeq: number;
    readonly limit: number;
  }): Promise<readonly StoredChildLog[]>;
  addChildLogs(entries: readonly ChildLogRecord[]): Promise<void>;

  /**
   * Claims an idempotency key of a tool, unless it is taken.
   *
   * @returns the existing claim, or `null` if the caller now holds it
   */
  claimReply(tool: string, key: string, argsHash: string, ttlMs: number): Promise<Reply | null>;
  /** Extends a claim that has no answer yet by `ttlMs`. */
  holdReply(tool: string, key: string, ttlMs: number): Promise<void>;
  /**
   * Stores the answer; the first one stored under a key wins.
   *
   * @returns the winning answer
   */
  keepReply(tool: string, key: string, argsHash: string, text: string, ttlMs: number): Promise<string>;
  /** Releases a claim without a stored answer, or (`kept`) an answer that is no longer valid. */
  dropReply(tool: string, key: string, kept: boolean): Promise<void>;
}
