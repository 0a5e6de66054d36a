import { setTimeout as sleep } from 'node:timers/promises';
import type { Budget } from '../core/ports/budgets.ts';
import type { AccessKey, KeyStore } from '../core/ports/keys.ts';
import type { Clock } from '../core/ports.ts';
import type { FailureReporter } from '../failures.ts';

export interface KeyRingOptions {
  readonly keys: () => Promise<Pick<KeyStore, 'generation' | 'all' | 'touch'>>;
  readonly clock: Clock;
  /** Calls back when another process may have changed keys, until the returned function is called. */
  readonly onKeys: (listener: () => void) => () => void;
  readonly onFailure: FailureReporter;
  /** Poll interval for changed keys, in milliseconds; default: 500. */
  readonly lookMs?: number;
}

/** Poll interval for changes by other processes, so that a revoked key stops working within a second. */
const LOOK_MS = 500;
/** Least interval between store queries caused by unknown keys, which may have been created a moment ago. */
const LOOK_AGAIN_MS = 100;

/** Interval between writes of last uses, in milliseconds. */
const TOUCH_MS = 60_000;

/** Why a key opens nothing. */
export type Void = 'key_unknown' | 'key_expired' | 'key_revoked' | 'keys_unavailable';

/** All keys of the store in memory, by the hash of their text. They are few, and a request needs no query. */
export class KeyRing {
  readonly #options: KeyRingOptions;
  #byHash = new Map<string, AccessKey>();
  #byId = new Map<string, AccessKey>();
  #generation: number | null = null;
  #looking: Promise<void> | null = null;
  #lookingAnew: Promise<void> | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #stopListening = (): void => {};
  #failing = false;
  /** Last uses that are not written yet. */
  #used = new Map<string, number>();
  #touchedAt = performance.now();
  readonly #listeners = new Set<() => void>();
  readonly #changeListeners = new Set<() => void>();

  constructor(options: KeyRingOptions) {
    this.#options = options;
  }

  /** Reads the keys now and again after every change. Never rejects. */
  async start(): Promise<void> {
    // a running poll may have started too early
    this.#stopListening = this.#options.onKeys(() => void this.lookAnew());
    this.#timer = setInterval(() => void this.look(), this.#options.lookMs ?? LOOK_MS).unref();
    await this.look();
  }

  /** Writes last uses. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopListening();
    await this.#touch();
  }

  /** Notes that a key was used; written within a minute. */
  used(id: string): void {
    this.#used.set(id, this.#options.clock.nowMs());
  }

  /** Calls back after each poll, at least twice a second: a key may have expired. */
  onLooked(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Calls back after keys were read because they changed. */
  onChanged(listener: () => void): void {
    this.#changeListeners.add(listener);
  }

  /** Number of keys, or `null` while they cannot be read. */
  get size(): number | null {
    return this.#generation === null ? null : this.#byHash.size;
  }

  /** Budgets of the keys that are alive. */
  budgets(): Budget[] {
    return [...this.#byId.values()].flatMap((key) => {
      const { id: name, dollarsPerMonth: dollars } = key;
      return dollars === null || typeof this.#alive(key) !== 'object' ? [] : [{ of: 'key', name, dollars }];
    });
  }

  /** Polls once more, slightly later if a poll has just run; all callers share that poll. Never rejects. */
  lookAnew(): Promise<void> {
    this.#lookingAnew ??= this.#lookLater().finally(() => {
      this.#lookingAnew = null;
    });
    return this.#lookingAnew;
  }

  find(hash: string): AccessKey | Void {
    if (this.#generation === null) return 'keys_unavailable';
    return this.#alive(this.#byHash.get(hash));
  }

  byId(id: string): AccessKey | Void {
    return this.#alive(this.#byId.get(id));
  }

  /** Reads the keys if they changed. Never rejects: while the store is away, the known keys stay valid. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
      if (performance.now() - this.#touchedAt >= TOUCH_MS) void this.#touch();
      for (const listener of this.#listeners) listener();
    });
    return this.#looking;
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

  async #lookLater(): Promise<void> {
    await this.#looking;
    await sleep(Math.max(0, this.#lookedAt + LOOK_AGAIN_MS - performance.now()));
    await this.look();
  }

  async #look(): Promise<void> {
    try {
      const store = await this.#options.keys();
      const generation = await store.generation();
      this.#lookedAt = performance.now();
      this.#failing = false;
      if (generation === this.#generation) return;
      const all = await store.all();
      this.#byHash = new Map(all.map((key) => [key.hash, key]));
      this.#byId = new Map(all.map((key) => [key.id, key]));
      this.#generation = generation;
      for (const listener of this.#changeListeners) listener();
    } catch (cause) {
      this.#lookedAt = performance.now();
      if (!this.#failing) this.#options.onFailure('keys_not_read', cause);
      this.#failing = true;
    }
  }

  #alive(key: AccessKey | undefined): AccessKey | Void {
    if (key === undefined) return 'key_unknown';
    if (key.revokedMs !== null) return 'key_revoked';
    if (key.expiresMs !== null && key.expiresMs <= this.#options.clock.nowMs()) return 'key_expired';
    return key;
  }
}
