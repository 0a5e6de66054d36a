import type { StoreBatch } from '../ports.ts';

/** A tool result from a request. The original is stored under `pruneId`. */
export interface NotedResult {
  readonly project: string;
  readonly conversationId: string;
  /** `x-mcp-pruner-task` of the request, or `''`. */
  readonly task: string;
  /** Index of the message; a higher one is a later call. */
  readonly ordinal: number;
  readonly pruneId: string;
  /** Like `path`, `''` if unknown. */
  readonly tool: string;
  readonly path: string;
  /** What the call requested (path, pattern, command); searchable like the result itself. */
  readonly about: string;
  /** Hash of the call and its arguments; `''` if unknown. */
  readonly call: string;
  /** UTF-16 units. */
  readonly chars: number;
  readonly atMs: number;
}

/** A task of a project, and the earlier conversations that its conversations continue. */
export interface TaskScope {
  readonly task: string;
  readonly conversations: readonly string[];
}

/** Selects the results of a project to search. */
export interface RecallScope {
  readonly project: string;
  /** Default: the results of all conversations. */
  readonly of?: TaskScope;
  /** Exact names of tools and paths. Default: any. */
  readonly tools?: readonly string[];
  readonly paths?: readonly string[];
}

/** Results that may stay unindexed for now, because searches read them directly. */
export interface LeftWaiting {
  /** The results occurred in one of these conversations, whose model still sees them. */
  readonly conversations: readonly string[];
  /** Maximum number of results, and of their total `chars`. Beyond that, the oldest are indexed. */
  readonly results: number;
  readonly chars: number;
}

/** A result that may match a query. */
export interface RecallCandidate {
  readonly row: number;
  readonly pruneId: string;
  readonly tool: string;
  readonly path: string;
  readonly about: string;
  readonly seenMs: number;
  readonly chars: number;
  /** Row of the newest result of the same call; `null` if this is the newest one. */
  readonly newer: number | null;
}

/** Term frequencies in the index. */
export interface RecallFrequencies {
  /** Number of indexed results, and their mean length in UTF-16 units. */
  readonly results: number;
  readonly meanChars: number;
  /** Number of results that contain a term; terms that occur in none are absent. */
  readonly withTerm: ReadonlyMap<string, number>;
}

/** A term with its weight and its document frequency, counted or estimated. */
export interface SearchTerm {
  readonly term: string;
  readonly weight: number;
  readonly results: number;
}

/** Selects the candidates for an answer. */
export interface RecallQuery extends RecallScope {
  readonly terms: readonly SearchTerm[];
  /** Parts of names, each with its trigrams. */
  readonly fragments: readonly {
    readonly name: string;
    readonly pieces: readonly string[];
    readonly weight: number;
  }[];
  /** File names in lower case; results about these files come first. */
  readonly files: readonly string[];
  readonly limit: number;
}

/**
 * The index of tool results by word. A result stays indexed as long as its original exists; both are deleted in the
 * same transaction. Every method may reject with `StoreUnavailable`.
 */
export interface RecallStore {
  /** Returns the hashes whose texts are stored. */
  stored(hashes: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Stores originals in the background, and records the results whose originals are stored. All other results are
   * skipped.
   */
  keep(originals: readonly StoreBatch[], results: readonly NotedResult[]): Promise<void>;
  /**
   * Indexes some waiting results in one small step; returns whether there is more to do.
   *
   * @param left - default: none
   */
  index(left?: LeftWaiting): Promise<boolean>;
  /** Compacts the index in one small step; returns whether there is more to do. */
  merge(): Promise<boolean>;
  /** Whether results are waiting to be indexed. */
  isBehind(): Promise<boolean>;
  frequencies(project: string, terms: readonly string[]): Promise<RecallFrequencies>;
  /** The highest-weighted results, at most `limit`. */
  candidates(query: RecallQuery): Promise<readonly RecallCandidate[]>;
  /** The newest results waiting to be indexed. */
  waiting(scope: RecallScope, limit: number): Promise<readonly RecallCandidate[]>;
  /** Returns the rows that occurred in the task, or in a conversation that it continues. */
  seenIn(rows: readonly number[], of: TaskScope): Promise<ReadonlySet<number>>;
  /** Texts by prune id; deleted texts are absent. */
  texts(pruneIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The distinct tools or paths of a project's results. */
  names(project: string, of: 'tool' | 'path'): Promise<readonly string[]>;
  /** The conversations that a task's conversations continue. A conversation name is accepted as a task. */
  continuedBy(project: string, task: string): Promise<readonly string[]>;
}
