/** A level of boldness for texts of a (project, tool, kind): a numbered fact of the store. */
export interface BoldnessFact {
  /** Sequence number; the newest fact of a (project, tool, kind) applies. */
  readonly number: number;
  /** -2 (mildest) to 2 (boldest); 0 applies the configured level. */
  readonly step: number;
}

/** The boldness levels in force. Answers synchronously from memory. */
export interface BoldnessSteps {
  /** Facts about a tool's texts by kind; `null` if none was ever recorded. */
  of(project: string, tool: string): ReadonlyMap<string, BoldnessFact> | null;
}
