/**
 * What a key's limits count: requests per minute (`minute`), tokens per UTC day (`day`), and one request at a time
 * until the usual size of the key's requests is known (`first`).
 */
export type LimitedSpan = 'minute' | 'day' | 'first';

/** A key as stored: never its text, which only its holder has. */
export interface AccessKey {
  /** `key_` and 12 characters; may be shown and logged. */
  readonly id: string;
  /** SHA-256 of its text, 64 hex digits. */
  readonly hash: string;
  readonly name: string;
  /** At least one; `*` alone means all. */
  readonly projects: readonly string[];
  /** `null`: without limit. */
  readonly requestsPerMinute: number | null;
  readonly tokensPerDay: number | null;
  /** Budget of a month (UTC), counted by the ledger. */
  readonly dollarsPerMonth: number | null;
  readonly createdMs: number;
  /** `null`: it does not expire. */
  readonly expiresMs: number | null;
  readonly revokedMs: number | null;
  /** About a minute late; `null`: never. */
  readonly lastUsedMs: number | null;
}

/** A place in the order in which keys were changed last. */
export interface KeyPlace {
  /** The generation of the change. */
  readonly number: number;
  readonly id: string;
}

export interface ChangedKey extends AccessKey {
  /** The generation in which it was changed last. */
  readonly number: number;
}

/** The fields of a key that may be changed. */
export type KeyChange = Partial<
  Pick<AccessKey, 'name' | 'projects' | 'requestsPerMinute' | 'tokensPerDay' | 'dollarsPerMonth' | 'expiresMs'>
>;

/** A key's usage count in a span. */
export interface CountedSpan {
  readonly keyId: string;
  readonly span: LimitedSpan;
  /** Number of the span since 1970. */
  readonly at: number;
  readonly used: number;
}

/** One limit that a request counts against. */
export interface CounterIncrement {
  readonly span: LimitedSpan;
  /** Number of the span since 1970. */
  readonly at: number;
  /** What the request adds. */
  readonly add: number;
  /** The request is refused if the count has already reached this value. */
  readonly limit: number;
}

/** The store of keys and their usage counts. Every method may reject with `StoreUnavailable`. */
export interface KeyStore {
  /** Changes with every change to the keys, by whichever process. Cheap. */
  generation(): Promise<number>;
  /**
   * Keys that were created or changed after a place in the order of their last changes, at most `limit`. May include
   * keys that were changed after `generation` was read.
   */
  changed(after: KeyPlace, limit: number): Promise<readonly ChangedKey[]>;
  /** All keys, including revoked and expired ones, oldest first. */
  all(): Promise<readonly AccessKey[]>;
  /** Keys in order of creation, starting after `after` (a key id) if given, at most `limit`. */
  list(query: { readonly after?: string | undefined; readonly limit: number }): Promise<readonly AccessKey[]>;
  /**
   * Adds all or none.
   *
   * @returns `false` if the limit would be exceeded
   */
  create(keys: readonly AccessKey[]): Promise<boolean>;
  /** @returns the key as it is then; `null` if there is no such key, or it was revoked */
  change(id: string, change: KeyChange): Promise<AccessKey | null>;
  /** Records when keys were last used. */
  touch(used: ReadonlyMap<string, number>): Promise<void>;
  /** Usage counts of all keys. */
  counted(): Promise<readonly CountedSpan[]>;
  /** @returns `false` if there is no such key, or it was already revoked */
  revoke(id: string, atMs: number): Promise<boolean>;
  /**
   * Gives a key a new text; the old one becomes invalid.
   *
   * @returns `false` if there is no such key, or it was revoked
   */
  rotate(id: string, hash: string): Promise<boolean>;
  /**
   * Counts a request, in one step for all processes: a span that is used up is not counted further.
   *
   * @returns the spans whose limit was not reached
   */
  count(id: string, increments: readonly CounterIncrement[]): Promise<ReadonlySet<LimitedSpan>>;
  /** Corrects the count of a span, if that span is still current. */
  correct(id: string, increment: Pick<CounterIncrement, 'span' | 'at' | 'add'>): Promise<void>;
}
