import type { RecallStore } from '../ports/recall.ts';
import type { Clock } from '../ports.ts';
import { MAX_WAITING_CHARS, MAX_WAITING_RESULTS } from './waiting.ts';
import type { KeptResults } from './writer.ts';

/** A store whose texts are compressed and indexed in small steps. Each returns whether there is more to do. */
export interface ArchivedStore {
  readonly recall: Pick<RecallStore, 'index' | 'merge'>;
  /** Absent: something else compresses texts. */
  pack?(): Promise<boolean>;
}

/** A conversation without new results for this long has left the model's context, or is at rest. */
const ACTIVE_MS = 60_000;
/** Time without new results after which the index is tidied. */
const QUIET_MS = 10_000;
/** Pause between steps, in which others may write. */
export const PAUSE_MS = 10;
const MAX_ACTIVE = 1_000;
/** Number of new results after which some may have to be indexed although their conversation goes on. */
const LOOKED_AT = 8;
/** So many characters count as a further result. */
const CHARS_OF_RESULT = 8_000;

/**
 * Compresses and indexes what was stored, in small steps. Results of a conversation that goes on are indexed later:
 * while the model sees them, nobody searches for them.
 */
export class Archiving {
  readonly #store: ArchivedStore;
  readonly #clock: Clock;
  /** When each conversation last brought a result. */
  readonly #active = new Map<string, number>();
  #lastMs: number;
  /** Number of results brought since the last look for results to index; at the start an earlier process may have left some. */
  #unlooked = LOOKED_AT;

  constructor(store: ArchivedStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#lastMs = clock.nowMs();
  }

  /** Records that a conversation brought results. */
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

  /** Takes one step. @returns milliseconds until the next one, or `null` if everything is done */
  async step(): Promise<number | null> {
    const { recall } = this.#store;
    const nowMs = this.#clock.nowMs();
    for (const [conversation, lastMs] of this.#active)
      if (nowMs - lastMs >= ACTIVE_MS && this.#active.delete(conversation)) this.#unlooked = LOOKED_AT;
    if (await this.#store.pack?.()) return PAUSE_MS;
    // a few results of conversations that go on stay where they are
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
