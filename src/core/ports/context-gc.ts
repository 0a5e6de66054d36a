import type { RequestFacts } from './request-facts.ts';

/** Initiator of an action: an agent by a tool, or a person on the page. */
export type Who = 'agent' | 'user';

/** Result for the segments named in a call. */
export interface Outcome {
  /** Segments that now have the requested state, in the order of the call. */
  readonly done: readonly string[];
  readonly tokens: number;
  /** One sentence per failed segment. */
  readonly errors: readonly string[];
}

/** Changes to a project's segments, effective with the next request. Methods reject with `StoreUnavailable`. */
export interface ContextActions {
  /** Stashes segments, recoverable by their markers, or deletes them permanently. */
  prune(project: string, ids: readonly string[], action: 'stash' | 'delete', by?: Who): Promise<Outcome>;
  /** Keeps segments whole, restoring stashed ones. */
  pin(project: string, ids: readonly string[], by?: Who): Promise<Outcome>;
  /** Allows segments to be pruned again. */
  unpin(project: string, ids: readonly string[], by?: Who): Promise<Outcome>;
}

/** Records answers and recoveries, to recognise cold caches and to count results that were put aside. */
export interface ColdReports {
  /**
   * Records an answer, which makes the conversation's cache warm again.
   *
   * @returns tokens that would have been put aside in its request
   */
  answered(request: AnsweredRequest): number;
  /** Records that lines of originals were recovered. Returns at once; nothing is counted if the store fails. */
  recovered(pruneIds: readonly string[]): void;
}

export interface AnsweredRequest {
  readonly facts: RequestFacts;
  /** When its answer ended, and the time since it arrived. */
  readonly atMs: number;
  readonly tookMs: number;
  readonly wire: string;
  /** Provider of the cloud; absent for the wire's own provider. */
  readonly cloud?: string | undefined;
}
