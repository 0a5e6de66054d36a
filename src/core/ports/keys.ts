/**
 * Spans of time for which a key has limits: requests of a minute, tokens of a day (UTC), and one request at a time until
 * a first answer is known.
 */
export type LimitedSpan = 'minute' | 'day' | 'first';

/** A key as the store has it: never its text, which its holder alone has. */
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

/** What may be changed of a key. */
export type KeyChange = Partial<
  Pick<AccessKey, 'name' | 'projects' | 'requestsPerMinute' | 'tokensPerDay' | 'dollarsPerMonth' | 'expiresMs'>
>;

/** What was counted of a key in a span. */
export interface CountedSpan {
  readonly keyId: string;
  readonly span: LimitedSpan;
  /** Number of the span since 1970. */
  readonly at: number;
  readonly used: number;
}

/** One limit that a request counts against. */
export interface Toll {
  readonly span: LimitedSpan;
  /** Number of the span since 1970. */
  readonly at: number;
  /** What the request adds. */
  readonly add: number;
  /** The request is refused if the count has already reached this value. */
  readonly most: number;
}

/** Where keys live, and what is counted of them. Every method may reject with `StoreUnavailable`. */
export interface KeyStore {
  /** Changes with every change to the keys, by whichever process. Cheap. */
  generation(): Promise<number>;
  /**
   * Keys that were created or changed after a place in the order of their last changes, at most `limit`. Those that were
   * changed after `generation` was asked for may be among them.
   */
  changed(after: KeyPlace, limit: number): Promise<readonly ChangedKey[]>;
  /** All keys, also those that were revoked or have expired, the oldest first. */
  all(): Promise<readonly AccessKey[]>;
  /** Keys in the order of their creation, behind `after` (a key's id) if given, at most `limit`. */
  list(query: { readonly after?: string | undefined; readonly limit: number }): Promise<readonly AccessKey[]>;
  /** Adds all or none. @returns `false` if the limit would be exceeded */
  create(keys: readonly AccessKey[]): Promise<boolean>;
  /** @returns the key as it is then; `null` when there is no such key, or it was revoked */
  change(id: string, change: KeyChange): Promise<AccessKey | null>;
  /** Notes when keys were used last. */
  touch(used: ReadonlyMap<string, number>): Promise<void>;
  /** What was counted of all keys. */
  counted(): Promise<readonly CountedSpan[]>;
  /** @returns `false` when there is no such key, or it was revoked before */
  revoke(id: string, atMs: number): Promise<boolean>;
  /** Gives a key another text; the old one ends. @returns `false` when there is no such key, or it was revoked */
  rotate(id: string, hash: string): Promise<boolean>;
  /**
   * Counts a request, in one step for all processes: a span that is used up is not counted further.
   *
   * @returns the spans that had room
   */
  count(id: string, tolls: readonly Toll[]): Promise<ReadonlySet<LimitedSpan>>;
  /** Corrects what was counted for a span, if that is still the one counted in. */
  correct(id: string, toll: Pick<Toll, 'span' | 'at' | 'add'>): Promise<void>;
}
