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

/** A search of results. */
export interface RecallQuery extends RecallScope {
  /** Each with a flag for whether it is part of a name. */
  readonly terms: ReadonlyMap<string, boolean>;
  /** File names in lower case; results about these files come first. */
  readonly files: readonly string[];
  readonly limit: number;
}

/** What a search found. */
export interface RecallFound {
  /** Number of results in the scope, and their mean length in UTF-16 units. */
  readonly results: number;
  readonly meanChars: number;
  /** Number of results that contain a term; terms that occur in none are absent. */
  readonly withTerm: ReadonlyMap<string, number>;
  /** The likeliest results, best first, at most `limit`. */
  readonly candidates: readonly RecallCandidate[];
  /** Whether more results contain a term. */
  readonly more: boolean;
}

/**
 * Tool results that can be searched by word. A result can be found as long as its original exists; both are deleted in
 * the same transaction. Every method may reject with `StoreUnavailable`.
 */
export interface RecallStore {
  /** Returns the hashes whose texts are stored. */
  stored(hashes: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Stores originals in the background, and records the results whose originals are stored. All other results are
   * skipped.
   */
  keep(originals: readonly StoreBatch[], results: readonly NotedResult[]): Promise<void>;
  /** Searches the texts of results, newest first, in time slices. */
  find(query: RecallQuery): Promise<RecallFound>;
  /** Returns the rows that occurred in the task, or in a conversation that it continues. */
  seenIn(rows: readonly number[], of: TaskScope): Promise<ReadonlySet<number>>;
  /** Texts by prune id; deleted texts are absent. */
  texts(pruneIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The distinct tools or paths of a project's results. */
  names(project: string, of: 'tool' | 'path'): Promise<readonly string[]>;
  /** The conversations that a task's conversations continue. A conversation name is accepted as a task. */
  continuedBy(project: string, task: string): Promise<readonly string[]>;
}

/** A search query and its scope. */
export interface RecallInput {
  readonly query: string;
  /** Full names, suffixes, or globs. */
  readonly path?: string | undefined;
  readonly tool?: string | undefined;
  readonly scope: 'conversation' | 'project';
  /** Number of hits, 1 to 50; other values count as the nearest of these. Default: 8. */
  readonly limit?: number;
  readonly project: string;
  /** `x-mcp-pruner-task` of the caller, or `''`. */
  readonly task: string;
}

/** A stored result with the lines that match the query, spelled as in the contract. */
export interface RecallHit {
  readonly prune_id: string;
  /** First and last line, numbered as in `recover_text`. */
  readonly lines: string;
  readonly tool: string | null;
  readonly path: string | null;
  /** Time of the last occurrence, ISO 8601. */
  readonly when: string;
  readonly score: number;
  /** The same call has since returned a different result. */
  readonly superseded?: true;
  /** The lines, verbatim. */
  readonly text: string;
}

export interface RecallAnswer {
  readonly hits: readonly RecallHit[];
  /** Whether further results match. */
  readonly more: boolean;
  readonly scope: 'conversation' | 'project';
  /** Advice if nothing was found. */
  readonly hint?: string;
}

/** Searches the results that a caller may see. */
export interface RecallSearch {
  /** @throws StoreUnavailable */
  search(input: RecallInput): Promise<RecallAnswer>;
}
