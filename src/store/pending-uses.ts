import type { Lifetimes } from './lifetimes.ts';

/**
 * What expires: a prune by its id, a decision to leave a text whole by its key, a served text by its hash, what was sent
 * of a message by its prefix.
 */
export type Expiring = 'prune' | 'whole' | 'served' | 'sent';

export interface Use {
  readonly kind: Expiring;
  readonly id: string;
  readonly expiresMs: number;
}

/** More than one busy process sees between two sweeps; past it a use is forgotten rather than memory spent. */
const MAX_PENDING = 20_000;
/** Fine enough that eviction tells a conversation of today from one of this morning. */
const LEAST_MOVE_MS = 600_000;

/**
 * Expiry that slides on use, without a write for each use: a use counts only when it moves the expiry by more than
 * `LEAST_MOVE_MS` (an eighth of a short lifetime), and waits in memory until a transaction is made anyway. Reads ask here,
 * so that a use counts at once. A use lost with the process costs at most that what it kept expires early; the proxy then stores it anew.
 */
export class PendingUses {
  readonly #lifetimes: Lifetimes;
  readonly #readonly: boolean;
  readonly #pending = new Map<string, Use>();

  /** @param readonly - nothing is noted, for nothing will be written */
  constructor(lifetimes: Lifetimes, readonly: boolean) {
    this.#lifetimes = lifetimes;
    this.#readonly = readonly;
  }

  /** How many uses wait to be written. */
  get size(): number {
    return this.#pending.size;
  }

  /**
   * Whether something is alive, gone from the very millisecond of its expiry on; if so its use is noted.
   *
   * @param storedMs - its expiry in the store, if it is there
   */
  use(kind: Expiring, id: string, storedMs: number | undefined, nowMs: number): boolean {
    if (storedMs === undefined || this.expiry(kind, id, storedMs) <= nowMs) return false;
    if (!this.#readonly) this.#used(kind, id, storedMs, nowMs);
    return true;
  }

  /** The expiry that counts: the stored one, or the later one that waits to be written. */
  expiry(kind: Expiring, id: string, storedExpiresMs: number): number {
    return Math.max(storedExpiresMs, this.#pending.get(kind + id)?.expiresMs ?? 0);
  }

  /** Notes a use of something alive. A clock that went backwards never shortens a life. */
  #used(kind: Expiring, id: string, storedExpiresMs: number, nowMs: number): void {
    const ttlMs = kind === 'sent' ? this.#lifetimes.sentTtlMs : this.#lifetimes.ttlMs;
    const expiresMs = nowMs + ttlMs;
    const leastMs = kind === 'sent' ? ttlMs / 8 : Math.min(ttlMs / 8, LEAST_MOVE_MS);
    if (expiresMs - this.expiry(kind, id, storedExpiresMs) <= leastMs) return;
    if (this.#pending.size >= MAX_PENDING && !this.#pending.has(kind + id)) return;
    this.#pending.set(kind + id, { kind, id, expiresMs });
  }

  /** Uses that wait, oldest first, for whoever writes them. */
  pending(limit: number): readonly Use[] {
    return this.#pending.size <= limit ? [...this.#pending.values()] : [...this.#pending.values()].slice(0, limit);
  }

  /** Forgets uses that have been written, unless they moved on in the meantime. */
  written(uses: Iterable<Use>): void {
    for (const use of uses) {
      const key = use.kind + use.id;
      if (this.#pending.get(key) === use) this.#pending.delete(key);
    }
  }
}
