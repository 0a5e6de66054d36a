import type { RecallStore } from '../ports/recall.ts';
import type { Clock } from '../ports.ts';

/** A store whose texts are compressed and indexed in small steps. Each returns whether there is more to do. */
export interface ArchivedStore {
  readonly recall: Pick<RecallStore, 'index'> & { merge(): Promise<boolean> };
  pack(): Promise<boolean>;
}

/** A conversation without new results for this long has left the model's context, or is at rest. */
const ACTIVE_MS = 60_000;
/** Time without new results after which the index is tidied. */
const QUIET_MS = 10_000;
/** Pause between steps, in which others may write. */
const PAUSE_MS = 10;
const MAX_ACTIVE = 1_000;

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

  constructor(store: ArchivedStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#lastMs = clock.nowMs();
  }

  /** Records that a conversation brought results. */
  brought(conversationId: string): void {
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
      if (nowMs - lastMs >= ACTIVE_MS) this.#active.delete(conversation);
    if (await this.#store.pack()) return PAUSE_MS;
    if (await recall.index([...this.#active.keys()])) return PAUSE_MS;
    const quietInMs = this.#lastMs + QUIET_MS - nowMs;
    if (quietInMs > 0) return quietInMs;
    if (await recall.merge()) return PAUSE_MS;
    const [oldestMs] = this.#active.values();
    return oldestMs === undefined ? null : Math.max(1_000, oldestMs + ACTIVE_MS - nowMs);
  }
}
