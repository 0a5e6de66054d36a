/**
 * What a key's limits count: requests per minute (`minute`), tokens per UTC day (`day`), and one request at a time
 * until the usual size of the key's requests is known (`first`).
 */
export type LimitedSpan = 'minute' | 'day' | 'first';

/** A key as stored. The secret itself is not stored; only the holder has it. */
export interface AccessKey {
  /** `key_` and 12 characters; may be shown and logged. */
  readonly id: string;
  /** SHA-256 of the secret, 64 hex digits. */
  readonly hash: string;
  readonly name: string;
  /** At least one; `*` alone grants all. */
  readonly projects: readonly string[];
  /** `null` means no limit. */
  readonly requestsPerMinute: number | null;
  readonly tokensPerDay: number | null;
  /** Monthly budget (UTC), counted by the ledger. */
  readonly dollarsPerMonth: number | null;
  readonly createdMs: number;
  /** `null` means no expiry. */
  readonly expiresMs: number | null;
  readonly revokedMs: number | null;
  /** Accurate to about a minute; `null` if never used. */
  readonly lastUsedMs: number | null;
}

/** A position in the order of last changes. */
export interface KeyPlace {
  /** Generation of the change. */
  readonly number: number;
  readonly id: string;
}

export interface ChangedKey extends AccessKey {
  /** Generation of the last change. */
  readonly number: number;
}

/** The mutable fields of a key. */
export type KeyChange = Partial<
  Pick<AccessKey, 'name' | 'projects' | 'requestsPerMinute' | 'tokensPerDay' | 'dollarsPerMonth' | 'expiresMs'>
>;

/** The usage count of a key in one span. */
export interface CountedSpan {
  readonly keyId: string;
  readonly span: LimitedSpan;
  /** Index of the span since 1970. */
  readonly at: number;
  readonly used: number;
}

/** An increment of one limit's counter. */
export interface CounterIncrement {
  readonly span: LimitedSpan;
  /** Index of the span since 1970. */
  readonly at: number;
  /** Amount to add. */
  readonly add: number;
  /** The request is refused if the count has already reached this value. */
  readonly limit: number;
}

/** The store of keys and their usage counts. Every method may reject with `StoreUnavailable`. */
export interface KeyStore {
  /** Changes with every change to any key, by any process. Cheap. */
  generation(): Promise<number>;
  /**
   * Keys created or changed after a position in the order of last changes, at most `limit`. May include keys that
   * changed after `generation` was read.
   */
  changed(after: KeyPlace, limit: number): Promise<readonly ChangedKey[]>;
  /** All keys, including revoked and expired ones, oldest first. */
  all(): Promise<readonly AccessKey[]>;
  /** Keys in order of creation, starting after `after` (a key id) if given, at most `limit`. */
  list(query: { readonly after?: string | undefined; readonly limit: number }): Promise<readonly AccessKey[]>;
  /**
   * Adds all keys, or none.
   *
   * @returns `false` if the limit would be exceeded
   */
  create(keys: readonly AccessKey[]): Promise<boolean>;
  /** @returns the updated key; `null` if it does not exist or was revoked */
  change(id: string, change: KeyChange): Promise<AccessKey | null>;
  /** Records when keys were last used. */
  touch(used: ReadonlyMap<string, number>): Promise<void>;
  /** Usage counts of all keys in all spans. */
  counted(): Promise<readonly CountedSpan[]>;
  /** @returns `false` if there is no such key, or it was already revoked */
  revoke(id: string, atMs: number): Promise<boolean>;
  /**
   * Replaces a key's secret; the old one becomes invalid.
   *
   * @returns `false` if there is no such key, or it was revoked
   */
  rotate(id: string, hash: string): Promise<boolean>;
  /**
   * Counts a request atomically across processes. Exhausted spans are not incremented.
   *
   * @returns the spans whose limit was not reached
   */
  count(id: string, increments: readonly CounterIncrement[]): Promise<ReadonlySet<LimitedSpan>>;
  /** Corrects the count of a span, if that span is still current. */
  correct(id: string, increment: Pick<CounterIncrement, 'span' | 'at' | 'add'>): Promise<void>;
}
