/**
 * Marks of originals that were recovered and of results that were put aside, by prune id. Methods reject with
 * `StoreUnavailable`.
 */
export interface ResultMarks {
  /** Returns the ids of originals from which lines were recovered. */
  givenOut(pruneIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Returns the ids that were put aside. */
  putAside(pruneIds: readonly string[]): Promise<ReadonlySet<string>>;
  noteAside(pruneIds: readonly string[]): Promise<void>;
  /**
   * Records that lines of originals were recovered.
   *
   * @returns the ids that were put aside and had not been recovered since
   */
  noteGivenOut(pruneIds: readonly string[]): Promise<readonly string[]>;
}
