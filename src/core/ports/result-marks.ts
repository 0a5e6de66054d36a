/** Which originals were given out, and which results were put aside, by prune id. Methods reject with `StoreUnavailable`. */
export interface ResultMarks {
  /** Those of the ids of which lines were given out. */
  givenOut(pruneIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Those of the ids that were put aside. */
  putAside(pruneIds: readonly string[]): Promise<ReadonlySet<string>>;
  noteAside(pruneIds: readonly string[]): Promise<void>;
  /**
   * Records that lines of originals were given out.
   *
   * @returns those that were put aside and of which nothing was given out since
   */
  noteGivenOut(pruneIds: readonly string[]): Promise<readonly string[]>;
}
