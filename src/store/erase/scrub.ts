/** Removes deleted bytes from the files of a database, as far as it can be done while it is used. */
export interface Scrubber {
  /** Parts of what the texts of some prunes occupy, to be looked for; none where the files cannot be read. */
  samples(pruneIds: readonly string[]): Promise<readonly Buffer[]>;
  /**
   * Which of the samples the files contain; `null` where they cannot be read.
   *
   * @param isErased - leaves out samples that a stored text contains as well
   */
  search(samples: readonly Buffer[], isErased: boolean): Promise<Searched | null>;
  /** @returns what was done, for the record; `isDone` is false if another process prevented it */
  scrub(): Promise<{ readonly did: string; readonly isDone: boolean }>;
}

export interface Searched {
  readonly bytes: number;
  readonly found: readonly Buffer[];
}
