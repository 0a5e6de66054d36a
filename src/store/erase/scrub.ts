/** Removes deleted bytes from database files, as far as possible during operation. */
export interface Scrubber {
  /** Byte samples of the prunes' stored texts, for a later search; none if the files cannot be read. */
  samples(pruneIds: readonly string[]): Promise<readonly Buffer[]>;
  /**
   * Finds the samples that the files contain; `null` if the files cannot be read.
   *
   * @param isErased - whether to skip samples that also occur in texts that are still stored
   */
  search(samples: readonly Buffer[], isErased: boolean): Promise<Searched | null>;
  /** @param full - whether to rewrite the tables, which locks them */
  scrub(full: boolean): Promise<Scrubbed>;
}

/** Report of a scrub. */
export interface Scrubbed {
  readonly did: string;
  /** Whether the table files contain no more bytes of deleted rows. */
  readonly isDone: boolean;
  /** Instruction for what remains to be done; absent if nothing remains. */
  readonly remedy?: string;
  /** Places that cannot be searched from here, where deleted bytes may remain. */
  readonly notSearched: readonly string[];
}

export interface Searched {
  readonly bytes: number;
  readonly found: readonly Buffer[];
}
