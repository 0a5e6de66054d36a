import type { StoredEvent } from '../ports.ts';
import type { ListedPrune, PruneSummary, RunSummary, StoreAges } from './records.ts';

/** The projects whose data a caller may read, and the project it writes to. */
export interface Viewer {
  /** `all` means no restriction. */
  readonly projects: readonly string[] | 'all';
  /** The project of newly written data. */
  readonly project: string;
}

/**
 * Ownership of data by projects. An original belongs to every project that sent its text in a request; naming its prune
 * id grants no access. Data of other projects is treated as if it did not exist: the project is checked in the same SQL
 * statement that reads the data. Every method may reject with `StoreUnavailable`.
 */
export interface ProjectStore {
  /** Returns the prunes that belong to one of the projects. */
  owned(projects: readonly string[], pruneIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Adds a project as an owner of prunes; unknown ids are ignored. */
  claim(project: string, pruneIds: readonly string[]): Promise<void>;
  /**
   * Gives prunes without an owner to the projects of the conversations that contained them, or to `default` if there
   * was none. Each prune is considered once per store, so that projects that see it later never become its owner.
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
  /** See `Records.prunes`. */
  prunes(
    projects: readonly string[],
    query: { readonly prefix: string; readonly limit: number },
  ): Promise<readonly PruneSummary[]>;
  /** See `Records.prunesByAge`. */
  prunesByAge(
    projects: readonly string[],
    page: { readonly before?: number; readonly limit: number },
  ): Promise<readonly ListedPrune[]>;
  /** Amount and age of the data. `bytes` counts the originals. */
  sizes(
    projects: readonly string[],
  ): Promise<StoreAges & { readonly prunes: number; readonly snapshots: number; readonly bytes: number }>;
}
