import type { Lifetimes } from './lifetimes.ts';

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

/** More than one busy process sees between two sweeps. Beyond it uses are dropped to bound memory. */
const MAX_PENDING = 20_000;
/**
 * Smallest expiry change, in milliseconds: fine enough that eviction distinguishes a conversation of today from one of
 * this morning.
 */
const LEAST_MOVE_MS = 600_000;

/**
 * Sliding expiry without a write for each use. A use counts only when it moves the expiry by more than `LEAST_MOVE_MS`
 * (an eighth of a short lifetime), and stays in memory until the next transaction. Reads consult this object, so that a
 * use counts at once. If the process ends first, an item may expire early, and the proxy stores it anew.
 */
export class PendingUses {
  readonly #lifetimes: Lifetimes;
  readonly #readonly: boolean;
  readonly #pending = new Map<string, Use>();

  /** @param readonly - records nothing, because nothing will be written */
  constructor(lifetimes: Lifetimes, readonly: boolean) {
    this.#lifetimes = lifetimes;
    this.#readonly = readonly;
  }

  /** Number of uses not yet written. */
  get size(): number {
    return this.#pending.size;
  }

  /**
   * Whether an item is alive, and if so records its use. An item is expired from the exact millisecond of its expiry.
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

  /** Records a use of a live item. A clock that went backwards never shortens a life. */
  #used(kind: Expiring, id: string, storedExpiresMs: number, nowMs: number): void {
    const ttlMs = kind === 'sent' ? this.#lifetimes.sentTtlMs : this.#lifetimes.ttlMs;
    const expiresMs = nowMs + ttlMs;
    const leastMs = kind === 'sent' ? ttlMs / 8 : Math.min(ttlMs / 8, LEAST_MOVE_MS);
    if (expiresMs - this.expiry(kind, id, storedExpiresMs) <= leastMs) return;
    if (this.#pending.size >= MAX_PENDING && !this.#pending.has(kind + id)) return;
    this.#pending.set(kind + id, { kind, id, expiresMs });
  }

  /** Pending uses, oldest first, for the caller to write. */
  pending(limit: number): readonly Use[] {
    return this.#pending.size <= limit ? [...this.#pending.values()] : [...this.#pending.values()].slice(0, limit);
  }

  /** Removes written uses, unless they moved on in the meantime. */
  written(uses: Iterable<Use>): void {
    for (const use of uses) {
      const key = use.kind + use.id;
      if (this.#pending.get(key) === use) this.#pending.delete(key);
    }
  }
}
