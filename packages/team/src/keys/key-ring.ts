import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { Budget } from 'mcp-pruner/core/ports/budgets.ts';
import type { AccessKey, KeyPlace, KeyStore } from 'mcp-pruner/core/ports/keys.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';

export interface KeyRingOptions {
  readonly keys: () => Promise<Pick<KeyStore, 'generation' | 'changed' | 'touch'>>;
  readonly clock: Clock;
  /** Calls the listener when keys may have changed. The returned function unsubscribes. */
  readonly onKeys: (listener: () => void) => () => void;
  readonly onFailure: FailureReporter;
  /** Maximum interval between polls, in milliseconds; default: a minute. */
  readonly pollMs?: number;
}

/** Maximum interval between polls, in case a notification is lost. */
const POLL_MS = 60_000;
/** Retry interval for reading keys while the store is unavailable. */
const RETRY_MS = 500;
/** Minimum interval between queries for unknown keys, which may have just been created. */
const POLL_AGAIN_MS = 100;

const TOUCH_MS = 60_000;

type InvalidKey = 'key_unknown' | 'key_expired' | 'key_revoked' | 'keys_unavailable';

/** Number of keys read at a time, so that requests do not wait long. */
const PAGE = 2_000;
const BEFORE_ALL: KeyPlace = { number: -1, id: '' };
/** Sorts after all key ids. */
const LAST_ID = '~';

/**
 * In-memory copy of all keys, by secret hash, so that requests need no query. Only changed keys are reloaded. Deleted
 * keys need no update, because they were revoked or expired before.
 */
export class KeyRing {
  readonly #options: KeyRingOptions;
  #byHash = new Map<string, AccessKey>();
  #byId = new Map<string, AccessKey>();
  #generation: number | null = null;
  #budgets: readonly Budget[] | null = null;
  #polling: Promise<void> | null = null;
  #pollingAnew: Promise<void> | null = null;
  #polledAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #stopListening = (): void => {};
  #failing = false;
  /** Last-used times not written yet. */
  #used = new Map<string, number>();
  #touchedAt = performance.now();
  readonly #listeners = new Set<() => void>();
  readonly #changeListeners = new Set<() => void>();

  constructor(options: KeyRingOptions) {
    this.#options = options;
  }

  /** Reads the keys now and after every change. Never rejects. */
  async start(): Promise<void> {
    // a poll in progress may have started too early
    this.#stopListening = this.#options.onKeys(() => void this.pollAnew());
    await this.poll();
  }

  /** Writes last-used times. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#stopListening();
    await this.#touch();
  }

  /** Records the use of a key; written within a minute. */
  used(id: string): void {
    this.#used.set(id, this.#options.clock.nowMs());
  }

  /** Calls the listener after each poll. The ring also polls when a key expires. */
  onPolled(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Calls the listener after changed keys were read. */
  onChanged(listener: () => void): void {
    this.#changeListeners.add(listener);
  }

  /** Number of keys, or `null` while they cannot be read. */
  get size(): number | null {
    return this.#generation === null ? null : this.#byHash.size;
  }

  /** Budgets of keys that are not revoked. */
  budgets(): readonly Budget[] {
    this.#budgets ??= [...this.#byId.values()].flatMap(({ id: name, dollarsPerMonth: dollars, revokedMs }): Budget[] =>
      dollars === null || revokedMs !== null ? [] : [{ of: 'key', name, dollars }],
    );
    return this.#budgets;
  }

  /** Polls again, with a short delay if a poll has just run; concurrent callers share the poll. Never rejects. */
  pollAnew(): Promise<void> {
    this.#pollingAnew ??= this.#pollLater().finally(() => {
      this.#pollingAnew = null;
    });
    return this.#pollingAnew;
  }

  find(hash: string): AccessKey | InvalidKey {
    if (this.#generation === null) return 'keys_unavailable';
    return this.#alive(this.#byHash.get(hash));
  }

  byId(id: string): AccessKey | InvalidKey {
    return this.#alive(this.#byId.get(id));
  }

  /** Reads the keys if they changed. Never rejects: while the store is unavailable, known keys stay valid. */
  poll(): Promise<void> {
    this.#polling ??= this.#pollOnce().finally(() => {
      this.#polling = null;
      if (performance.now() - this.#touchedAt >= TOUCH_MS) void this.#touch();
      for (const listener of this.#listeners) listener();
      this.#schedule();
    });
    return this.#polling;
  }

  /** Schedules the next poll: at the next key expiry, sooner after a store failure, else after the default interval. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#closed) return;
    const nowMs = this.#options.clock.nowMs();
    let delayMs = this.#failing ? RETRY_MS : (this.#options.pollMs ?? POLL_MS);
    for (const { expiresMs } of this.#byId.values()) {
      if (expiresMs !== null && expiresMs > nowMs) delayMs = Math.min(delayMs, expiresMs - nowMs);
    }
    this.#timer = setTimeout(() => void this.poll(), delayMs).unref();
  }

  async #touch(): Promise<void> {
    const used = this.#used;
    this.#touchedAt = performance.now();
    if (used.size === 0) return;
    this.#used = new Map();
    try {
      await (await this.#options.keys()).touch(used);
    } catch (cause) {
      this.#used = new Map([...used, ...this.#used]);
      this.#options.onFailure('key_use_not_noted', cause);
    }
  }

  async #pollLater(): Promise<void> {
    await this.#polling;
    await sleep(Math.max(0, this.#polledAt + POLL_AGAIN_MS - performance.now()));
    await this.poll();
  }

  async #pollOnce(): Promise<void> {
    try {
      const store = await this.#options.keys();
      const generation = await store.generation();
      this.#polledAt = performance.now();
      this.#failing = false;
      if (generation === this.#generation) return;
      if (generation < (this.#generation ?? 0)) this.#forget(); // the store was replaced by another one
      await this.#readChanged(
        store,
        this.#generation === null ? BEFORE_ALL : { number: this.#generation, id: LAST_ID },
      );
      this.#generation = generation;
      this.#budgets = null;
      for (const listener of this.#changeListeners) listener();
    } catch (cause) {
      this.#polledAt = performance.now();
      if (!this.#failing) this.#options.onFailure('keys_not_read', cause);
      this.#failing = true;
    }
  }

  #forget(): void {
    this.#byHash.clear();
    this.#byId.clear();
    this.#generation = null;
  }

  async #readChanged(store: Pick<KeyStore, 'changed'>, from: KeyPlace): Promise<void> {
    let after = from;
    for (;;) {
      const page = await store.changed(after, PAGE);
      for (const key of page) {
        const known = this.#byId.get(key.id);
        if (known) this.#byHash.delete(known.hash);
        this.#byId.set(key.id, key);
        this.#byHash.set(key.hash, key);
        after = { number: key.number, id: key.id };
      }
      if (page.length < PAGE) return;
      await nextTurn();
    }
  }

  #alive(key: AccessKey | undefined): AccessKey | InvalidKey {
    if (key === undefined) return 'key_unknown';
    if (key.revokedMs !== null) return 'key_revoked';
    if (key.expiresMs !== null && key.expiresMs <= this.#options.clock.nowMs()) return 'key_expired';
    return key;
  }
}
