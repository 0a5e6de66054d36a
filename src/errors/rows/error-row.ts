/** One failure that a client can see. */
export interface ErrorRow {
  /** JSON-RPC error code, or `null` if a call cannot fail with this error. */
  readonly rpc: number | null;
  /** HTTP status, or `null` if the answer is JSON-RPC, which always has status 200. */
  readonly http: number | null;
  /** What happened, in one clause; absent where code and hint say it. Printed on `docs/errors.md`. */
  readonly about?: string;
  /**
   * What to do. Sent with the error as `data.hint` or `error.message`, unless the code that throws gives its own hint.
   */
  readonly hint: string;
}
