export interface ErrorRow {
  /** JSON-RPC error code, or `null` if a call cannot fail with this error. */
  readonly rpc: number | null;
  /** HTTP status, or `null` if the answer is JSON-RPC, which always has status 200. */
  readonly http: number | null;
  /** What happened, in one clause; absent if code and hint suffice. Printed in `docs/errors.md`. */
  readonly about?: string;
  /** What to do. Sent as `data.hint` or `error.message`, unless the thrower supplies its own hint. */
  readonly hint: string;
}
