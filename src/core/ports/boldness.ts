/** A level of boldness for texts of a (project, tool, kind): a numbered fact of the store. */
export interface BoldnessFact {
  /** Number of the fact; the newest one of a (project, tool, kind) applies. */
  readonly number: number;
  /** -2 (mildest) to 2 (boldest); 0 is as configured. */
  readonly step: number;
}

/** The levels of boldness that apply now. Answers at once, from memory. */
export interface BoldnessSteps {
  /** Facts about texts of a tool by their kind; `null` if none was ever recorded. */
  of(project: string, tool: string): ReadonlyMap<string, BoldnessFact> | null;
}
