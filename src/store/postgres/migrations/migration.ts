/** One step forward of the schema `mcp_pruner`. Runs once in a database's life, in one transaction with the others. */
export interface Migration {
  /** 1, 2, 3, … without gaps. */
  readonly version: number;
  /**
   * The oldest version of the program's schema that may go on working while this one is in place: replicas are upgraded
   * one after the other. A step that only adds keeps the one before it.
   */
  readonly worksWith: number;
  readonly sql: string;
}
