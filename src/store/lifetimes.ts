import type { StoreOptions } from './handle.ts';

/** Lifetimes after the last use, in whole milliseconds. */
export interface Lifetimes {
  readonly ttlMs: number;
  /** Lifetime of sent-message records; at least `ttlMs`. */
  readonly sentTtlMs: number;
}

/** The default retention of audit events. */
export const YEAR_MS = 365 * 86_400_000;

const SENT_TTL_MS = 90 * 86_400_000;
/** The longest epoch as a share of a lifetime. */
const EPOCH_SHARE = 1 / 8;

export function lifetimesOf(options: Pick<StoreOptions, 'ttlMs' | 'sentTtlMs'>): Lifetimes {
  const ttlMs = Math.max(1, Math.trunc(options.ttlMs));
  return { ttlMs, sentTtlMs: Math.max(ttlMs, Math.trunc(options.sentTtlMs ?? SENT_TTL_MS)) };
}

/**
 * Number of the current time slice. Items stored or used within a slice survive until its end, even if later uses are
 * not written.
 */
export function epochSlice(nowMs: number, { ttlMs }: Lifetimes): number {
  return Math.floor(nowMs / Math.max(1, ttlMs * EPOCH_SHARE));
}

/** Room beyond the limit, in bytes: as much as the limit itself, but at most this. */
const MAX_SLACK_BYTES = 268_435_456;
const LIVING_MS = 600_000;

/**
 * Size at which a store rejects new originals. The range between the limit and this value is for texts that are not
 * compressed yet.
 */
export function roomLimit(maxBytes: number): number {
  return maxBytes + Math.min(maxBytes, MAX_SLACK_BYTES);
}

/** Younger items belong to an active conversation and are never evicted. */
export function livingMs(ttlMs: number): number {
  return Math.min(LIVING_MS, ttlMs / 8);
}

/**
 * Items that expire: a prune by its id, a decision to keep a text whole by its key, a served text by its hash, a
 * sent-message record by its prefix.
 */
export type Expiring = 'prune' | 'whole' | 'served' | 'sent';

export interface Use {
  readonly kind: Expiring;
  readonly id: string;
  readonly expiresMs: number;
}

/** Maximum number of pending uses, more than a busy process records between two sweeps. Further uses are dropped. */
const MAX_PENDING = 20_000;
/**
 * Smallest change of an expiry, in milliseconds; fine enough for eviction to distinguish current conversations from
 * those of a few hours ago.
 */
const LEAST_MOVE_MS = 600_000;

/**
 * Sliding expiry without a write for each use. A use is recorded only if it moves the expiry by more than
 * `LEAST_MOVE_MS` (for short lifetimes and for sent-message records, by more than an eighth of the lifetime), and stays
 * in memory until the next transaction. Reads consult this object, so that uses take effect at once. If the process
 * ends first, an item may expire early, and the proxy stores it again.
 */
export class PendingUses {
  readonly #lifetimes: Lifetimes;
  readonly #readonly: boolean;
  readonly #pending = new Map<string, Use>();

  /** @param readonly - records no uses, because nothing is written */
  constructor(lifetimes: Lifetimes, readonly: boolean) {
    this.#lifetimes = lifetimes;
    this.#readonly = readonly;
  }

  /** Number of uses not yet written. */
  get size(): number {
    return this.#pending.size;
  }

  /**
   * Whether an item is alive; if so, records its use. An item expires at exactly its expiry millisecond.
   *
   * @param storedMs - its expiry in the store, if it exists
   */
  use(kind: Expiring, id: string, storedMs: number | undefined, nowMs: number): boolean {
    if (storedMs === undefined || this.expiry(kind, id, storedMs) <= nowMs) return false;
    if (!this.#readonly) this.#used(kind, id, storedMs, nowMs);
    return true;
  }

  /** The effective expiry: the later of the stored and the pending one. */
  expiry(kind: Expiring, id: string, storedExpiresMs: number): number {
    return Math.max(storedExpiresMs, this.#pending.get(kind + id)?.expiresMs ?? 0);
  }

  /** Records a use of a live item. A clock that goes backwards never shortens a lifetime. */
  #used(kind: Expiring, id: string, storedExpiresMs: number, nowMs: number): void {
    const ttlMs = kind === 'sent' ? this.#lifetimes.sentTtlMs : this.#lifetimes.ttlMs;
    const expiresMs = nowMs + ttlMs;
    const leastMs = kind === 'sent' ? ttlMs / 8 : Math.min(ttlMs / 8, LEAST_MOVE_MS);
    if (expiresMs - this.expiry(kind, id, storedExpiresMs) <= leastMs) return;
    if (this.#pending.size >= MAX_PENDING && !this.#pending.has(kind + id)) return;
    this.#pending.set(kind + id, { kind, id, expiresMs });
  }

  /** Pending uses to write, oldest first. */
  pending(limit: number): readonly Use[] {
    return this.#pending.size <= limit ? [...this.#pending.values()] : [...this.#pending.values()].slice(0, limit);
  }

  /** Removes written uses, unless they changed in the meantime. */
  written(uses: Iterable<Use>): void {
    for (const use of uses) {
      const key = use.kind + use.id;
      if (this.#pending.get(key) === use) this.#pending.delete(key);
    }
  }
}
