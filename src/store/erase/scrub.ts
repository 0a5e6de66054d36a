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
  /** @returns what was done, for the record; `isDone` is false if another process prevented it */
  scrub(): Promise<{ readonly did: string; readonly isDone: boolean }>;
}

export interface Searched {
  readonly bytes: number;
  readonly found: readonly Buffer[];
}
