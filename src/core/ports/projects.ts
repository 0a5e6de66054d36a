import type { StoredEvent } from '../ports.ts';
import type { ListedPrune, PruneSummary, RunSummary, StoreAges } from './records.ts';

/** The projects whose data may be read, and the project on whose behalf data is written. */
export interface Viewer {
  /** `all`: without restriction. */
  readonly projects: readonly string[] | 'all';
  /** The project that new data belongs to. */
  readonly project: string;
}

/**
 * Which data belongs to which project. An original belongs to every project whose request contained its text; a request
 * that only names its prune id gains no access. Data of other projects is treated as if it did not exist: the SQL
 * statement that reads the data also checks the project. Every method may reject with `StoreUnavailable`.
 */
export interface ProjectStore {
  /** Returns the prunes that belong to one of the projects. */
  owned(projects: readonly string[], pruneIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Adds a project as an owner of prunes; unknown ids are ignored. */
  claim(project: string, pruneIds: readonly string[]): Promise<void>;
  /**
   * Gives prunes without an owner to the projects of the conversations that contained them, or to `default` if there
   * was none. Considers each prune only once per store, so that a prune is never given to a project whose conversation
   * contained it only later.
   */
  adopt(): Promise<void>;
  events(
    projects: readonly string[],
    query: { readonly runId?: string; readonly fromSeq: number; readonly limit: number },
  ): Promise<readonly StoredEvent[]>;
  runs(
    projects: readonly string[],
    query: { readonly prefix: string; readonly limit: number },
  ): Promise<readonly RunSummary[]>;
  /** Sequence number of the newest event (of one run if `runId` is given), or 0. */
  lastSeq(projects: readonly string[], runId?: string): Promise<number>;
  /** As `Records.prunes`. */
  prunes(
    projects: readonly string[],
    query: { readonly prefix: string; readonly limit: number },
  ): Promise<readonly PruneSummary[]>;
  /** As `Records.prunesByAge`. */
  prunesByAge(
    projects: readonly string[],
    page: { readonly before?: number; readonly limit: number },
  ): Promise<readonly ListedPrune[]>;
  /** How much there is, and how old it is. `bytes` counts the originals. */
  sizes(
    projects: readonly string[],
  ): Promise<StoreAges & { readonly prunes: number; readonly snapshots: number; readonly bytes: number }>;
}
