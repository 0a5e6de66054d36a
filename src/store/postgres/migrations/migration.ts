/** One migration of the schema `mcp_pruner`. Runs once per database, in one transaction with the others. */
export interface Migration {
  /** 1, 2, 3, … without gaps. */
  readonly version: number;
  /**
   * The oldest program schema version that still works with this one: replicas are upgraded one after the other. A
   * migration that only adds keeps the previous value.
   */
  readonly worksWith: number;
  readonly sql: string;
}
