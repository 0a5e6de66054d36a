/** A boldness step that holds for texts of a (project, tool, kind): a numbered fact of the store. */
export interface BoldnessFact {
  /** Of the fact; the newest one of a (project, tool, kind) holds. */
  readonly number: number;
  /** -2 (mildest) to 2 (boldest); 0 is as configured. */
  readonly step: number;
}

/** Which boldness steps hold. Answers at once, from memory. */
export interface BoldnessSteps {
  /** Facts about texts of a tool by their kind; `null` where none was ever noted. */
  of(project: string, tool: string): ReadonlyMap<string, BoldnessFact> | null;
}
