/** The records that can be looked up, apart from the events themselves. */

/** A run that has events in the store. */
export interface RunSummary {
  readonly runId: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** When its last event happened, epoch milliseconds. */
  readonly lastMs: number;
}

/** A prune that has not expired. */
export interface PruneSummary {
  readonly pruneId: string;
  readonly tool: string;
  readonly sourceType: string;
  readonly lines: number;
  readonly keptLines: number;
  readonly createdMs: number;
  readonly expiresMs: number;
}

/** A prune with its place in the order in which prunes were made. */
export interface ListedPrune extends PruneSummary {
  /** Ascending. */
  readonly row: number;
}

/** When the oldest prune in the store was made and when prunes expire, in epoch milliseconds; `null` without prunes. */
export interface StoreAges {
  readonly oldestMs: number | null;
  readonly newestMs: number | null;
  /** When the next prune expires, and the last, if none of them is used before. */
  readonly nextExpiryMs: number | null;
  readonly lastExpiryMs: number | null;
}

/** An agent whose output was recorded. */
export interface ChildSummary {
  readonly childId: string;
  readonly lastSeq: number;
  readonly lastMs: number;
}

/** One line of an agent's output, or (`meta`) its start, end or restart. */
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
  /** The fields of `message`; `null` for a plain line. */
  readonly parsed: unknown;
}

export interface StoredChildLog extends ChildLogRecord {
  /** Ascending, without reuse. */
  readonly seq: number;
}

/** The answer to a call for which the client supplied a key. */
export interface Reply {
  /** Hash of the arguments. */
  readonly argsHash: string;
  /** The answer's text; `null` while the call runs, or when the process that ran it died. */
  readonly text: string | null;
}

/**
 * Runs, prunes and agents as lists, logs of agents, and kept answers. Every method may reject with `StoreUnavailable`.
 */
export interface Records {
  /** Runs whose id begins with a prefix, most recently active first. */
  runs(query: { readonly prefix: string; readonly limit: number }): Promise<readonly RunSummary[]>;
  /** Sequence number of a run's last event, or 0 if the store has none. */
  lastSeqOfRun(runId: string): Promise<number>;
  /** Sequence number of the newest event, or 0. */
  lastSeq(): Promise<number>;
  /** Prunes that have not expired, most recently used first. */
  prunes(query: { readonly prefix: string; readonly limit: number }): Promise<readonly PruneSummary[]>;
  /** Prunes that have not expired, newest first, starting after the one at `before` if given, at most `limit`. */
  prunesByAge(page: { readonly before?: number; readonly limit: number }): Promise<readonly ListedPrune[]>;
  ages(): Promise<StoreAges>;
  /** Whether a prune is available, has expired, or is unknown to the store. */
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
   * Claims a key of a tool for a call, unless it is taken.
   *
   * @returns what the key is claimed for already, or `null` if the caller holds the claim now
   */
  claimReply(tool: string, key: string, argsHash: string, ttlMs: number): Promise<Reply | null>;
  /** Extends a claim without an answer by `ttlMs`. */
  holdReply(tool: string, key: string, ttlMs: number): Promise<void>;
  /**
   * Stores the answer; the first one stored under a key wins.
   *
   * @returns the answer that applies
   */
  keepReply(tool: string, key: string, argsHash: string, text: string, ttlMs: number): Promise<string>;
  /** Releases a claim without a stored answer, or (`kept`) an answer that is no longer valid. */
  dropReply(tool: string, key: string, kept: boolean): Promise<void>;
}
