/** One failure that a client can see. */
export interface ErrorRow {
  /** JSON-RPC number, or `null` where it cannot be the answer to a call. */
  readonly rpc: number | null;
  /** HTTP status, or `null` where the answer is JSON-RPC, which is a 200 whatever it says. */
  readonly http: number | null;
  /** What happened, in one clause; absent where code and hint say it. Printed on `docs/errors.md`. */
  readonly about?: string;
  /** What to do. Goes with the error as `data.hint` or `error.message`, unless the place that throws knows better. */
  readonly hint: string;
}
