import { LRUCache } from 'lru-cache';
import type { Clock } from '../core/ports.ts';
import type { Answer } from './remote-backend.ts';

export interface CacheOptions {
  readonly clock: Clock;
  /** How long an answer is remembered; 0 forgets it at once. */
  readonly ttlMs: number;
  /** Maximum number of remembered answers; 0 remembers none. */
  readonly maxItems: number;
}

interface Kept {
  readonly answer: Answer;
  readonly atMs: number;
}

/** However many answers are allowed, they take no more memory than this. */
const MAX_BYTES = 32 * 1024 * 1024;

/** The latest answers of a service. Failures are not kept. */
export class AnswerCache {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #kept: LRUCache<string, Kept> | null;

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

  get(key: string): Answer | null {
    const kept = this.#kept?.get(key);
    if (!kept) return null;
    const ageMs = this.#clock.nowMs() - kept.atMs;
    if (ageMs >= 0 && ageMs < this.#ttlMs) return kept.answer;
    this.#kept?.delete(key);
    return null;
  }

  set(key: string, answer: Answer): void {
    this.#kept?.set(key, { answer, atMs: this.#clock.nowMs() });
  }
}
