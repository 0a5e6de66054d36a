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
  readonly #ttlMs: number;
  readonly #sentTtlMs: number;
  readonly #pending = new Map<string, Use>();

  /** @param sentTtlMs - lifetime of what was sent of messages; `ttlMs` is that of all else */
  constructor(ttlMs: number, sentTtlMs: number) {
    this.#ttlMs = ttlMs;
    this.#sentTtlMs = sentTtlMs;
  }

  /** How many uses wait to be written. */
  get size(): number {
    return this.#pending.size;
  }

  /** Whether something with this stored expiry is still there. Gone from the very millisecond of its expiry on. */
  alive(kind: Expiring, id: string, storedExpiresMs: number, nowMs: number): boolean {
    return storedExpiresMs > nowMs || (this.#pending.get(kind + id)?.expiresMs ?? 0) > nowMs;
  }

  /** The expiry that counts: the stored one, or the later one that waits to be written. */
  expiry(kind: Expiring, id: string, storedExpiresMs: number): number {
    return Math.max(storedExpiresMs, this.#pending.get(kind + id)?.expiresMs ?? 0);
  }

  /** Notes a use of something alive. A clock that went backwards never shortens a life. */
  used(kind: Expiring, id: string, storedExpiresMs: number, nowMs: number): void {
    const ttlMs = kind === 'sent' ? this.#sentTtlMs : this.#ttlMs;
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
