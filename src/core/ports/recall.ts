import type { StoreBatch } from '../ports.ts';

/** A tool result as a request contained it. Its original is stored under `pruneId`. */
export interface NotedResult {
  readonly project: string;
  readonly conversationId: string;
  /** `x-mcp-pruner-task` of the request, or `''`. */
  readonly task: string;
  /** Index of its message: a later one is a later call. */
  readonly ordinal: number;
  readonly pruneId: string;
  /** `''` if unknown, like `path`. */
  readonly tool: string;
  readonly path: string;
  /** What the call asked for: path, pattern, command; searched like the result itself. */
  readonly about: string;
  /** Hash of the call and its arguments; `''` if unknown. */
  readonly call: string;
  /** UTF-16 units. */
  readonly chars: number;
  readonly atMs: number;
}

/** A task of a project, and the earlier conversations that the task's conversations continue. */
export interface TaskScope {
  readonly task: string;
  readonly conversations: readonly string[];
}

/** Which results of a project are searched. */
export interface RecallScope {
  readonly project: string;
  /** Absent: the results of all conversations. */
  readonly of?: TaskScope;
  /** Tools and paths, in full; absent: any. */
  readonly tools?: readonly string[];
  readonly paths?: readonly string[];
}

/** Results that may wait although they could be indexed: searches read them. */
export interface LeftWaiting {
  /** They occurred in one of these conversations, whose model sees them. */
  readonly conversations: readonly string[];
  /** Most results, and the sum of their `chars`; the oldest beyond that are indexed. */
  readonly results: number;
  readonly chars: number;
}

/** A result that may answer a query. */
export interface RecallCandidate {
  readonly row: number;
  readonly pruneId: string;
  readonly tool: string;
  readonly path: string;
  readonly about: string;
  readonly seenMs: number;
  readonly chars: number;
  /** Row of the newest result of the same call; `null` if this is the newest. */
  readonly newer: number | null;
}

/** How often terms occur. */
export interface RecallFrequencies {
  /** Results in the index, and their mean length in UTF-16 units. */
  readonly results: number;
  readonly meanChars: number;
  /** Number of results with a term; absent terms occur in none. */
  readonly withTerm: ReadonlyMap<string, number>;
}

/** A term with its weight, and with the number of results that have it, counted or estimated. */
export interface SearchTerm {
  readonly term: string;
  readonly weight: number;
  readonly results: number;
}

/** What candidates are chosen by. */
export interface RecallQuery extends RecallScope {
  readonly terms: readonly SearchTerm[];
  /** Parts of names, each with its pieces of three characters. */
  readonly fragments: readonly {
    readonly name: string;
    readonly pieces: readonly string[];
    readonly weight: number;
  }[];
  /** Names of files, in lower case: results about them come first. */
  readonly files: readonly string[];
  readonly limit: number;
}

/**
 * The index of tool results by word. A result stays in the index as long as its original: whatever deletes the original
 * removes it from the index in the same transaction. Every method may reject with `StoreUnavailable`.
 */
export interface RecallStore {
  /** Returns the hashes whose texts are stored. */
  stored(hashes: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Stores originals in the background, and records results whose originals are stored. Others are skipped, and so are
   * those whose original the store refuses.
   */
  keep(originals: readonly StoreBatch[], results: readonly NotedResult[]): Promise<void>;
  /**
   * Indexes some of the results that wait for it, in one small step; returns whether there is more to do.
   *
   * @param left - default: none
   */
  index(left?: LeftWaiting): Promise<boolean>;
  /** Tidies the index in one small step; returns whether there is more to do. */
  merge(): Promise<boolean>;
  /** Whether results wait to be indexed. */
  isBehind(): Promise<boolean>;
  frequencies(project: string, terms: readonly string[]): Promise<RecallFrequencies>;
  /** The results with the greatest weight, at most `limit`. */
  candidates(query: RecallQuery): Promise<readonly RecallCandidate[]>;
  /** The newest results that wait to be indexed. */
  waiting(scope: RecallScope, limit: number): Promise<readonly RecallCandidate[]>;
  /** Returns the rows that occurred in the task or in a conversation that it continues. */
  seenIn(rows: readonly number[], of: TaskScope): Promise<ReadonlySet<number>>;
  /** Texts by prune id; deleted ones are absent. */
  texts(pruneIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The distinct tools or paths of a project's results. */
  names(project: string, of: 'tool' | 'path'): Promise<readonly string[]>;
  /** The conversations that the conversations of a task continue. A conversation's name counts as a task too. */
  continuedBy(project: string, task: string): Promise<readonly string[]>;
}
