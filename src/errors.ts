/** Every failure a client of `/rpc` can see, with its JSON-RPC code (001 §8). Codes are public: add, never renumber. */
const catalogue = {
  resource_not_found: -32002,
  prune_id_not_found: -32004,
  invalid_range: -32005,
  recovery_unavailable: -32006,
  resource_wrong_kind: -32007,
  resource_expired: -32008,
  store_unavailable: -32009,
  idempotency_conflict: -32010,
  batch_too_large: -32011,
} as const;

export type ErrorCode = keyof typeof catalogue;

/** A failure the caller can act on. Anything else thrown is a bug and becomes `-32603`. */
export class PrunerError extends Error {
  override readonly name = 'PrunerError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, details: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions) {
    super(code, options); // the wire contract is `message === code`
    this.code = code;
    this.details = details;
  }

  get rpcCode(): number {
    return catalogue[this.code];
  }
}

/** The store cannot serve now (locked, full, gone, broken). Callers fail open; `reason` is a short constant code. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** `locked`, `full`, `readonly`, `corrupt`, `newer_schema`, `closed` or `error`. */
  readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    super(`store unavailable: ${reason}`, options);
    this.reason = reason;
  }
}
