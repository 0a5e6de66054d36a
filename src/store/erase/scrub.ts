/** Removes deleted bytes from the files of a database, as far as possible while it is in use. */
export interface Scrubber {
  /** Samples of the stored bytes of the prunes' texts, to be searched for; none if the files cannot be read. */
  samples(pruneIds: readonly string[]): Promise<readonly Buffer[]>;
  /**
   * Which of the samples the files contain; `null` where they cannot be read.
   *
   * @param isErased - whether to leave out samples that also occur in texts that are still stored
   */
  search(samples: readonly Buffer[], isErased: boolean): Promise<Searched | null>;
  /** @param full - whether to rewrite the tables, which locks them meanwhile */
  scrub(full: boolean): Promise<Scrubbed>;
}

/** What was done, for the record. */
export interface Scrubbed {
  readonly did: string;
  /** No bytes of deleted rows are left in the files of the tables. */
  readonly isDone: boolean;
  /** What remains to be done, as an instruction; absent if it is done. */
  readonly remedy?: string;
  /** Where deleted bytes may remain, because it cannot be searched from here. */
  readonly notSearched: readonly string[];
}

export interface Searched {
  readonly bytes: number;
  readonly found: readonly Buffer[];
}
