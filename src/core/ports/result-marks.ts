/**
 * Which originals were given out, and which results were put aside, by prune id. Methods reject with
 * `StoreUnavailable`.
 */
export interface ResultMarks {
  /** Returns the ids of originals of which lines were given out. */
  givenOut(pruneIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Returns the ids that were put aside. */
  putAside(pruneIds: readonly string[]): Promise<ReadonlySet<string>>;
  noteAside(pruneIds: readonly string[]): Promise<void>;
  /**
   * Records that lines of originals were given out.
   *
   * @returns the ids that were put aside and not given out since
   */
  noteGivenOut(pruneIds: readonly string[]): Promise<readonly string[]>;
}
