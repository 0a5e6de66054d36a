import type { RecallStore } from '../ports/recall.ts';
import type { Clock } from '../ports.ts';
import { MAX_WAITING_CHARS, MAX_WAITING_RESULTS } from './waiting.ts';
import type { KeptResults } from './writer.ts';

/** A store whose texts are compressed and indexed in small steps. Each returns whether there is more to do. */
export interface ArchivedStore {
  readonly recall: Pick<RecallStore, 'index' | 'merge'>;
  /** Absent if texts are compressed elsewhere. */
  pack?(): Promise<boolean>;
}

/** After this time without new results, a conversation is idle, or its results have left the model's context. */
const ACTIVE_MS = 60_000;
/** Time without new results after which the index is compacted. */
const QUIET_MS = 10_000;
/** Pause between steps, so that other writers get a chance. */
export const PAUSE_MS = 10;
const MAX_ACTIVE = 1_000;
/** Number of new results after which some may have to be indexed although their conversation is still active. */
const LOOKED_AT = 8;
/** Every so many characters count as one more result. */
const CHARS_OF_RESULT = 8_000;

/**
 * Compresses and indexes stored texts in small steps. Results of active conversations are indexed later, because the
 * model still sees them and does not search for them.
 */
export class Archiving {
  readonly #store: ArchivedStore;
  readonly #clock: Clock;
  /** Time of the last result of each conversation. */
  readonly #active = new Map<string, number>();
  #lastMs: number;
  /** Results received since the last check for indexing. Starts high, because an earlier process may have left some. */
  #unlooked = LOOKED_AT;

  constructor(store: ArchivedStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#lastMs = clock.nowMs();
  }

  /** Records that a conversation produced results. */
  brought({ conversationId, results }: Pick<KeptResults, 'conversationId' | 'results'>): void {
    for (const { text } of results) this.#unlooked += 1 + text.length / CHARS_OF_RESULT;
    this.#lastMs = this.#clock.nowMs();
    this.#active.delete(conversationId);
    this.#active.set(conversationId, this.#lastMs);
    for (const oldest of this.#active.keys()) {
      if (this.#active.size <= MAX_ACTIVE) break;
      this.#active.delete(oldest);
    }
  }

  /** Takes one step. @returns milliseconds until the next step, or `null` if nothing is left to do */
  async step(): Promise<number | null> {
    const { recall } = this.#store;
    const nowMs = this.#clock.nowMs();
    for (const [conversation, lastMs] of this.#active)
      if (nowMs - lastMs >= ACTIVE_MS && this.#active.delete(conversation)) this.#unlooked = LOOKED_AT;
    if (await this.#store.pack?.()) return PAUSE_MS;
    // a few results of active conversations may stay unindexed
    if (this.#unlooked >= LOOKED_AT) {
      const left = { conversations: [...this.#active.keys()], results: MAX_WAITING_RESULTS, chars: MAX_WAITING_CHARS };
      if (await recall.index(left)) return PAUSE_MS;
      this.#unlooked = 0;
    }
    const quietInMs = this.#lastMs + QUIET_MS - nowMs;
    if (quietInMs > 0) return quietInMs;
    if (await recall.merge()) return PAUSE_MS;
    const [oldestMs] = this.#active.values();
    return oldestMs === undefined ? null : Math.max(1_000, oldestMs + ACTIVE_MS - nowMs);
  }
}
