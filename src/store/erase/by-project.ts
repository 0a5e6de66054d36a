import type { ProjectRetention } from '../../core/ports/project-settings.ts';
import type { Clock } from '../../core/ports.ts';
import type { StoreHandle } from '../handle.ts';

/** Interval between looks for data that a project keeps no longer. */
const LOOK_MS = 600_000;

export interface RetentionOptions {
  readonly store: Pick<StoreHandle, 'erasure'>;
  readonly clock: Clock;
  /** Lifetime of originals where a project sets none. */
  readonly ttlMs: number;
  /** What projects set, at this moment. */
  readonly retentions: () => readonly ProjectRetention[];
}

/** Deletes what projects keep for a shorter time than the server, in the pauses between requests. */
export class RetentionByProject {
  readonly #options: RetentionOptions;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Returns whether the next step has work to do as well. @throws StoreUnavailable */
  async step(): Promise<boolean> {
    const { store, clock, ttlMs } = this.#options;
    const retentions = this.#options.retentions();
    if (retentions.length === 0 || clock.nowMs() < this.#nextMs) return false;
    const erasure = await store.erasure();
    let more = false;
    for (const retention of retentions) more = (await erasure.expire(retention, ttlMs)) || more;
    if (!more) this.#nextMs = clock.nowMs() + LOOK_MS;
    return more;
  }
}
