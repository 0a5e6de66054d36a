import { LRUCache } from 'lru-cache';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import type { LineOpinions } from './remote-backend.ts';

interface CacheOptions {
  readonly clock: Clock;
  /** Lifetime of a cached answer; 0 disables the cache. */
  readonly ttlMs: number;
  /** Maximum number of cached answers; 0 disables the cache. */
  readonly maxItems: number;
}

interface CachedAnswer {
  readonly answer: LineOpinions;
  readonly atMs: number;
}

/** Maximum memory, regardless of the allowed number of answers. */
const MAX_BYTES = 32 * 1024 * 1024;

export class AnswerCache {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #kept: LRUCache<string, CachedAnswer> | null;

  constructor({ clock, ttlMs, maxItems }: CacheOptions) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#kept =
      ttlMs === 0 || maxItems === 0
        ? null
        : new LRUCache({
            max: maxItems,
            maxSize: MAX_BYTES,
            sizeCalculation: ({ answer }) => answer.opinions.byteLength + 200,
          });
  }

  get(key: string): LineOpinions | null {
    const kept = this.#kept?.get(key);
    if (!kept) return null;
    const ageMs = this.#clock.nowMs() - kept.atMs;
    if (ageMs >= 0 && ageMs < this.#ttlMs) return kept.answer;
    this.#kept?.delete(key);
    return null;
  }

  set(key: string, answer: LineOpinions): void {
    this.#kept?.set(key, { answer, atMs: this.#clock.nowMs() });
  }
}
